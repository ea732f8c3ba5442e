// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <typeinfo>

#include "base/error.hpp"

namespace colonnade {

/// The parsed shape of a node for one family: an immutable value of a type that only this family knows.
class Form {
 public:
  Form() = default;

  template <class T>
  static Form of(T value) {
    Form form;
    form.value_ = std::make_shared<const T>(std::move(value));
    form.type_ = &typeid(T);
    return form;
  }

  template <class T>
  const T& as() const {
    if (type_ == nullptr || *type_ != typeid(T)) fail(ErrorCode::internal, "the form is another family's");
    return *static_cast<const T*>(value_.get());
  }

 private:
  std::shared_ptr<const void> value_;
  const std::type_info* type_ = nullptr;
};

}  // namespace colonnade
