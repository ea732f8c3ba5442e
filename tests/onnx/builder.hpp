// SPDX-License-Identifier: Apache-2.0
// Builds ONNX models for tests, well-formed or not.
#pragma once

#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/onnx/onnx.hpp"
#include "frontends/onnx/proto.hpp"

namespace colonnade::onnx_import::testing {

using Names = std::vector<std::string>;

inline onnx::AttributeProto attribute(const std::string& name, std::int64_t value) {
  onnx::AttributeProto proto;
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::INT);
  proto.set_i(value);
  return proto;
}
inline onnx::AttributeProto attribute(const std::string& name, int value) {
  return attribute(name, static_cast<std::int64_t>(value));
}
inline onnx::AttributeProto attribute(const std::string& name, float value) {
  onnx::AttributeProto proto;
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::FLOAT);
  proto.set_f(value);
  return proto;
}
inline onnx::AttributeProto attribute(const std::string& name, const char* value) {
  onnx::AttributeProto proto;
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::STRING);
  proto.set_s(value);
  return proto;
}
inline onnx::AttributeProto attribute(const std::string& name, const Ints& values) {
  onnx::AttributeProto proto;
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) proto.add_ints(value);
  return proto;
}
inline onnx::AttributeProto attribute(const std::string& name, const std::vector<float>& values) {
  onnx::AttributeProto proto;
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::FLOATS);
  for (const float value : values) proto.add_floats(value);
  return proto;
}
inline onnx::AttributeProto attribute(const std::string& name, const Names& values) {
  onnx::AttributeProto proto;
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::STRINGS);
  for (const auto& value : values) proto.add_strings(value);
  return proto;
}
inline onnx::AttributeProto attribute(const std::string& name, const onnx::TensorProto& value) {
  onnx::AttributeProto proto;
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::TENSOR);
  *proto.mutable_t() = value;
  return proto;
}
inline onnx::AttributeProto attribute(const std::string& name, const onnx::GraphProto& value) {
  onnx::AttributeProto proto;
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::GRAPH);
  *proto.mutable_g() = value;
  return proto;
}
/// An attribute of a function body that stands for the caller's.
inline onnx::AttributeProto reference(const std::string& name, const std::string& caller,
                                      onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto proto;
  proto.set_name(name);
  proto.set_type(type);
  proto.set_ref_attr_name(caller);
  return proto;
}

inline onnx::TensorProto float_tensor(const std::string& name, const Shape& shape, const std::vector<float>& values) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : shape) proto.add_dims(dim);
  for (const float value : values) proto.add_float_data(value);
  return proto;
}
inline onnx::TensorProto int_tensor(const std::string& name, const Shape& shape, const Ints& values) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx::TensorProto::INT64);
  for (const std::int64_t dim : shape) proto.add_dims(dim);
  for (const std::int64_t value : values) proto.add_int64_data(value);
  return proto;
}
/// Raw bytes of any type.
template <class T>
onnx::TensorProto raw_tensor(const std::string& name, int data_type, const Shape& shape, const std::vector<T>& values) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(data_type);
  for (const std::int64_t dim : shape) proto.add_dims(dim);
  proto.set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
  return proto;
}
inline onnx::TensorProto external_tensor(const std::string& name, const Shape& shape,
                                         const std::vector<std::pair<std::string, std::string>>& keys) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : shape) proto.add_dims(dim);
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : keys) {
    auto* entry = proto.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return proto;
}

inline onnx::NodeProto node_proto(const std::string& op, const Names& inputs, const Names& outputs,
                                  const std::vector<onnx::AttributeProto>& attributes = {},
                                  const std::string& domain = "") {
  onnx::NodeProto proto;
  proto.set_op_type(op);
  proto.set_domain(domain);
  for (const auto& input : inputs) proto.add_input(input);
  for (const auto& output : outputs) proto.add_output(output);
  for (const auto& each : attributes) *proto.add_attribute() = each;
  return proto;
}

/// A model that grows by calls; every part can be damaged through `proto`.
struct ModelBuilder {
  onnx::ModelProto proto;

  explicit ModelBuilder(std::int64_t opset = 17, std::int64_t ml_opset = 0) {
    proto.set_ir_version(8);
    proto.mutable_graph()->set_name("test");
    if (opset > 0) import("", opset);
    if (ml_opset > 0) import("ai.onnx.ml", ml_opset);
  }
  ModelBuilder& import(const std::string& domain, std::int64_t version) {
    auto* entry = proto.add_opset_import();
    entry->set_domain(domain);
    entry->set_version(version);
    return *this;
  }
  ModelBuilder& input(const std::string& name, const Shape& shape, int data_type = onnx::TensorProto::FLOAT) {
    declare(proto.mutable_graph()->add_input(), name, data_type, &shape);
    return *this;
  }
  ModelBuilder& output(const std::string& name, int data_type = onnx::TensorProto::FLOAT) {
    declare(proto.mutable_graph()->add_output(), name, data_type, nullptr);
    return *this;
  }
  ModelBuilder& constant(const onnx::TensorProto& tensor) {
    *proto.mutable_graph()->add_initializer() = tensor;
    return *this;
  }
  ModelBuilder& node(const std::string& op, const Names& inputs, const Names& outputs,
                     const std::vector<onnx::AttributeProto>& attributes = {}, const std::string& domain = "") {
    *proto.mutable_graph()->add_node() = node_proto(op, inputs, outputs, attributes, domain);
    return *this;
  }

  std::string bytes() const { return proto.SerializeAsString(); }
  Graph import_graph() const {
    const std::string text = bytes();
    return import_bytes(std::as_bytes(std::span(text)));
  }

 private:
  static void declare(onnx::ValueInfoProto* info, const std::string& name, int data_type, const Shape* shape) {
    info->set_name(name);
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(data_type);
    if (!shape) return;
    type->mutable_shape();
    for (const std::int64_t dim : *shape) {
      auto* added = type->mutable_shape()->add_dim();
      if (dim >= 0) added->set_dim_value(dim);
    }
  }
};

inline std::span<const std::byte> as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace colonnade::onnx_import::testing
