// SPDX-License-Identifier: Apache-2.0
// Operators that nothing but their own definition knows: shape rule and evaluation stand in one place, passes and plans
// see a node that needs whole values. Most ONNX operators are lowered to core operators instead.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "colonnade/colonnade.hpp"

namespace colonnade {

using Ints = std::vector<std::int64_t>;

struct Opaque;
struct ValueType;
class RuleContext;
namespace reference {
struct Call;
}

using Attribute = std::variant<std::int64_t, float, std::string, Ints, std::vector<float>, std::vector<std::string>,
                               std::shared_ptr<const Tensor>>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// What an opaque operator is. A constant with static storage.
struct Definition {
  std::string_view name;
  /// Shape rule, as those of the core operators: what cannot be known stays unknown.
  std::vector<ValueType> (*infer)(const Opaque& op, const RuleContext& context);
  /// One datum an output that is wanted; others may be anything.
  std::vector<Datum> (*evaluate)(const Opaque& op, const reference::Call& call);
  bool random = false;  ///< another answer every time: never folded, never shared
  /// What evaluation needs of the attributes, made once: tables, compiled patterns. Throws where they are no good.
  std::shared_ptr<const void> (*prepare)(const Opaque& op) = nullptr;
};

struct Opaque {
  const Definition* definition = nullptr;
  std::int64_t version = 0;  ///< opset of its domain
  Attributes attributes;
  std::shared_ptr<const void> prepared = nullptr;  ///< by the definition
  bool operator==(const Opaque& other) const;

  bool has(std::string_view name) const { return attributes.contains(name); }
  // Attributes by name. Throw Error{invalid_model} when the attribute is of another type, and without a fallback when
  // it is absent.
  std::int64_t int_of(std::string_view name) const;
  std::int64_t int_or(std::string_view name, std::int64_t fallback) const;
  float float_or(std::string_view name, float fallback) const;
  std::string string_of(std::string_view name) const;
  std::string string_or(std::string_view name, std::string_view fallback) const;
  Ints ints_or(std::string_view name, Ints fallback = {}) const;
  std::vector<float> floats_or(std::string_view name, std::vector<float> fallback = {}) const;
  std::vector<std::string> strings_or(std::string_view name, std::vector<std::string> fallback = {}) const;
  /// Null when absent.
  std::shared_ptr<const Tensor> tensor(std::string_view name) const;
  /// T is what the definition prepares.
  template <class T>
  const T& prepared_as() const {
    return *static_cast<const T*>(prepared.get());
  }
};

Opaque make_opaque(const Definition& definition, std::int64_t version, Attributes attributes);

}  // namespace colonnade
