// SPDX-License-Identifier: Apache-2.0
#include "graph/opaque.hpp"

#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

constexpr std::string_view kTypeNames[] = {"an integer", "a float", "a string", "integers",
                                           "floats",     "strings", "a tensor"};

template <class T>
const T* find(const Opaque& op, std::string_view name) {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) return nullptr;
  if (const T* value = std::get_if<T>(&found->second)) return value;
  fail(ErrorCode::invalid_model, "attribute '{}' is {}, expected {}", name, kTypeNames[found->second.index()],
       kTypeNames[Attribute(T{}).index()]);
}

template <class T>
const T& require(const Opaque& op, std::string_view name) {
  if (const T* value = find<T>(op, name)) return *value;
  fail(ErrorCode::invalid_model, "attribute '{}' is missing", name);
}

template <class T>
T value_or(const Opaque& op, std::string_view name, T fallback) {
  const T* value = find<T>(op, name);
  return value != nullptr ? *value : std::move(fallback);
}

}  // namespace

bool Opaque::operator==(const Opaque& other) const {
  return definition == other.definition && version == other.version && attributes == other.attributes &&
         !definition->random;
}

Opaque make_opaque(const Definition& definition, std::int64_t version, Attributes attributes) {
  Opaque op{&definition, version, std::move(attributes)};
  if (definition.prepare != nullptr) op.prepared = definition.prepare(op);
  return op;
}

std::int64_t Opaque::int_of(std::string_view name) const { return require<std::int64_t>(*this, name); }
std::int64_t Opaque::int_or(std::string_view name, std::int64_t fallback) const {
  return value_or(*this, name, fallback);
}
float Opaque::float_or(std::string_view name, float fallback) const { return value_or(*this, name, fallback); }
std::string Opaque::string_of(std::string_view name) const { return require<std::string>(*this, name); }
std::string Opaque::string_or(std::string_view name, std::string_view fallback) const {
  return value_or(*this, name, std::string(fallback));
}
Ints Opaque::ints_or(std::string_view name, Ints fallback) const { return value_or(*this, name, std::move(fallback)); }
std::vector<float> Opaque::floats_or(std::string_view name, std::vector<float> fallback) const {
  return value_or(*this, name, std::move(fallback));
}
std::vector<std::string> Opaque::strings_or(std::string_view name, std::vector<std::string> fallback) const {
  return value_or(*this, name, std::move(fallback));
}
std::shared_ptr<const Tensor> Opaque::tensor(std::string_view name) const {
  return value_or<std::shared_ptr<const Tensor>>(*this, name, nullptr);
}

Types infer(const Opaque& op, const RuleContext& context) {
  try {
    return op.definition->infer(op, context);
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (message.starts_with("node '")) throw;
    context.fail("{}", message);
  }
}

}  // namespace colonnade
