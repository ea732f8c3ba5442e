// SPDX-License-Identifier: Apache-2.0
#include "reference/onnx/attributes.hpp"

#include "base/error.hpp"

namespace colonnade::reference {

DType dtype_of(const Opaque& op, std::string_view name) {
  const std::int64_t number = op.int_of(name);
  if (number < 0 || number > static_cast<std::int64_t>(DType::f6e3m2)) {
    fail(ErrorCode::invalid_model, "attribute '{}': element type {} does not exist", name, number);
  }
  return static_cast<DType>(number);
}

DType dtype_or(const Opaque& op, std::string_view name, DType fallback) {
  return op.has(name) ? dtype_of(op, name) : fallback;
}

}  // namespace colonnade::reference
