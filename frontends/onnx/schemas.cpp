// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/schemas.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "graph/graph.hpp"

namespace colonnade::onnx_import {
namespace {

/// kMasks: sets of types, a bit for each of ONNX's numbers of element types, and then for each kind of container.
/// kOperators, sorted: "NAME|SINCE:TYPES:ATTRIBUTES|..." where TYPES are numbers of masks, one for each input.
#include "frontends/onnx/schemas.inc"

constexpr int kSequence = 27, kMap = 28, kOptional = 29;

int number_in(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Takes what is before the separator off the front.
std::string_view taken(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

struct Schema {
  std::int64_t since = 0;
  std::string_view types, attributes;
};

/// That of the newest version up to the node's opset; of the first one where the operator is newer.
std::optional<Schema> schema_of(const OnnxNode& node) {
  if (node.domain != kOnnxDomain && node.domain != kMlDomain) return std::nullopt;
  const std::string name = (node.domain == kMlDomain ? "ml." : "") + node.op_type;
  const auto name_of = [](std::string_view line) { return line.substr(0, line.find('|')); };
  const auto* const line = std::lower_bound(std::begin(kOperators), std::end(kOperators), name,
                                            [&](std::string_view a, const std::string& b) { return name_of(a) < b; });
  if (line == std::end(kOperators) || name_of(*line) != name) return std::nullopt;
  std::optional<Schema> schema;
  for (std::string_view versions = line->substr(name.size() + 1); !versions.empty();) {
    std::string_view version = taken(versions, '|');
    const int since = number_in(taken(version, ':'));
    if (since > node.opset && schema) break;
    const std::string_view types = taken(version, ':');
    schema = Schema{since, types, version};
  }
  return schema;
}

bool has_word(std::string_view words, std::string_view wanted) {
  while (!words.empty()) {
    if (taken(words, ' ') == wanted) return true;
  }
  return false;
}

int number_of(const ValueType& type) {
  if (type.is_tensor()) return data_type_of(type.dtype);
  switch (type.containers.front()) {
    case Container::sequence: return kSequence;
    case Container::optional: return kOptional;
    case Container::map_of_int64:
    case Container::map_of_string: break;
  }
  return kMap;
}

}  // namespace

void check_form(const OnnxNode& node) {
  const auto schema = schema_of(node);
  if (!schema) return;
  if (schema->since > node.opset && node.opset > 0)
    fail(ErrorCode::invalid_model, "{}: operator {} of domain {} in opset {} is not there before opset {}",
         node.label(), node.op_type, node.domain, node.opset, schema->since);
  if (node.outputs.empty()) fail(ErrorCode::invalid_model, "{}: it has no outputs", node.label());
  const auto check = [&](const std::string& name) {
    const bool is_private = name.starts_with("__");
    if (is_private || has_word(schema->attributes, name)) return;
    fail(ErrorCode::invalid_model, "{}: attribute '{}': expected none of this name in opset {}", node.label(),
         printable(name), node.opset);
  };
  for (const auto& [name, attribute] : node.attributes) check(name);
  for (const auto& [name, graph] : node.graphs) check(name);
}

void check_types(const OnnxNode& node, std::span<const ValueType* const> inputs) {
  const auto schema = schema_of(node);
  if (!schema) return;
  std::string_view types = schema->types;
  std::uint32_t mask = ~std::uint32_t{0};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!types.empty()) mask = kMasks[number_in(taken(types, ','))];
    if (inputs[i] == nullptr || (inputs[i]->is_tensor() && inputs[i]->dtype == DType::undefined)) continue;
    if ((mask >> number_of(*inputs[i]) & 1U) != 0) continue;
    fail(ErrorCode::invalid_model, "{}: input {} '{}': expected another type in opset {}, found {}", node.label(), i,
         printable(node.inputs[i]), node.opset, to_text(*inputs[i]));
  }
}

}  // namespace colonnade::onnx_import
