// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/custom.hpp"
#include "frontends/onnx/flatten.hpp"
#include "frontends/onnx/tensor.hpp"

namespace colonnade::onnx_import {
namespace {

using onnx::AttributeProto;

std::string_view type_name(AttributeProto::AttributeType type) {
  switch (type) {
    case AttributeProto::FLOAT: return "float";
    case AttributeProto::INT: return "int";
    case AttributeProto::STRING: return "string";
    case AttributeProto::TENSOR: return "tensor";
    case AttributeProto::GRAPH: return "graph";
    case AttributeProto::SPARSE_TENSOR: return "sparse tensor";
    case AttributeProto::TYPE_PROTO: return "type";
    case AttributeProto::FLOATS: return "floats";
    case AttributeProto::INTS: return "ints";
    case AttributeProto::STRINGS: return "strings";
    case AttributeProto::TENSORS: return "tensors";
    case AttributeProto::GRAPHS: return "graphs";
    case AttributeProto::SPARSE_TENSORS: return "sparse tensors";
    case AttributeProto::TYPE_PROTOS: return "types";
    default: return "nothing";
  }
}

/// Early writers left `type` out: then the field that is set tells it. An empty list is a list of whatever is asked
/// for.
AttributeProto::AttributeType type_or(const AttributeProto& attribute, AttributeProto::AttributeType expected) {
  if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return AttributeProto::FLOAT;
  if (attribute.has_i()) return AttributeProto::INT;
  if (attribute.has_s()) return AttributeProto::STRING;
  if (attribute.has_t()) return AttributeProto::TENSOR;
  if (attribute.has_g()) return AttributeProto::GRAPH;
  if (attribute.has_sparse_tensor()) return AttributeProto::SPARSE_TENSOR;
  if (attribute.has_tp()) return AttributeProto::TYPE_PROTO;
  if (attribute.floats_size() > 0) return AttributeProto::FLOATS;
  if (attribute.ints_size() > 0) return AttributeProto::INTS;
  if (attribute.strings_size() > 0) return AttributeProto::STRINGS;
  return expected;
}

const AttributeProto* find(const OnnxNode& node, std::string_view name, AttributeProto::AttributeType expected) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return nullptr;
  const auto type = type_or(*found->second, expected);
  if (type != expected) {
    fail(ErrorCode::invalid_model, "{}: attribute '{}': expected {}, found {}", node.label(), name, type_name(expected),
         type_name(type));
  }
  return found->second;
}

}  // namespace

AttributeProto::AttributeType type_of(const AttributeProto& attribute) {
  return type_or(attribute, AttributeProto::UNDEFINED);
}

std::string OnnxNode::label() const { return fmt::format("node '{}' ({})", printable(name), printable(op_type)); }

std::optional<std::int64_t> find_int(const OnnxNode& node, std::string_view name) {
  const auto* attribute = find(node, name, AttributeProto::INT);
  return attribute ? std::optional(attribute->i()) : std::nullopt;
}

std::optional<float> find_float(const OnnxNode& node, std::string_view name) {
  const auto* attribute = find(node, name, AttributeProto::FLOAT);
  return attribute ? std::optional(attribute->f()) : std::nullopt;
}

std::optional<std::string> find_string(const OnnxNode& node, std::string_view name) {
  const auto* attribute = find(node, name, AttributeProto::STRING);
  return attribute ? std::optional(attribute->s()) : std::nullopt;
}

std::optional<Ints> find_ints(const OnnxNode& node, std::string_view name) {
  const auto* attribute = find(node, name, AttributeProto::INTS);
  if (!attribute) return std::nullopt;
  return Ints(attribute->ints().begin(), attribute->ints().end());
}

std::optional<std::vector<float>> find_floats(const OnnxNode& node, std::string_view name) {
  const auto* attribute = find(node, name, AttributeProto::FLOATS);
  if (!attribute) return std::nullopt;
  return std::vector<float>(attribute->floats().begin(), attribute->floats().end());
}

std::optional<std::vector<std::string>> find_strings(const OnnxNode& node, std::string_view name) {
  const auto* attribute = find(node, name, AttributeProto::STRINGS);
  if (!attribute) return std::nullopt;
  return std::vector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

const onnx::TensorProto* find_tensor(const OnnxNode& node, std::string_view name) {
  const auto* attribute = find(node, name, AttributeProto::TENSOR);
  return attribute ? &attribute->t() : nullptr;
}

const onnx::SparseTensorProto* find_sparse_tensor(const OnnxNode& node, std::string_view name) {
  const auto* attribute = find(node, name, AttributeProto::SPARSE_TENSOR);
  return attribute ? &attribute->sparse_tensor() : nullptr;
}

const onnx::TypeProto* find_type(const OnnxNode& node, std::string_view name) {
  const auto* attribute = find(node, name, AttributeProto::TYPE_PROTO);
  return attribute ? &attribute->tp() : nullptr;
}

bool holds_int(const OnnxNode& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  return found != node.attributes.end() && type_of(*found->second) == AttributeProto::INT;
}

namespace {

bool is_element_type(std::string_view name) { return name == "dtype" || name == "output_datatype" || name == "to"; }

/// With `types`, integers that number an element type number a DType.
Attribute attribute_of(const OnnxNode& node, const std::string& name, const AttributeProto& proto,
                       ExternalData& external, bool types) {
  const std::string where = fmt::format("{}: attribute '{}'", node.label(), printable(name));
  switch (type_of(proto)) {
    case AttributeProto::INT: {
      const std::int64_t value = *find_int(node, name);
      return types && is_element_type(name) ? static_cast<std::int64_t>(dtype_of(value, where)) : value;
    }
    case AttributeProto::FLOAT: return *find_float(node, name);
    case AttributeProto::STRING: return *find_string(node, name);
    case AttributeProto::INTS: return *find_ints(node, name);
    case AttributeProto::FLOATS: return *find_floats(node, name);
    case AttributeProto::STRINGS: return *find_strings(node, name);
    case AttributeProto::TENSOR:
      return std::make_shared<const Tensor>(tensor_from(*find_tensor(node, name), where, external));
    default: fail(ErrorCode::invalid_model, "{} is of a type that the operator does not know", where);
  }
}

}  // namespace

Attributes attributes_of(const OnnxNode& node, ExternalData& external) {
  Attributes attributes;
  for (const auto& [name, proto] : node.attributes)
    attributes.emplace(name, attribute_of(node, name, *proto, external, true));
  return attributes;
}

Attributes plain_attributes_of(const OnnxNode& node, ExternalData& external) {
  Attributes attributes;
  for (const auto& [name, proto] : node.attributes)
    attributes.emplace(name, attribute_of(node, name, *proto, external, false));
  return attributes;
}

}  // namespace colonnade::onnx_import
