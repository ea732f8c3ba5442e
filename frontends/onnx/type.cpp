// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/type.hpp"

#include "frontends/onnx/node.hpp"
#include "frontends/onnx/proto.hpp"

namespace colonnade::onnx_import {
namespace {

/// ONNX knows an optional sequence of maps.
constexpr std::size_t kMostContainers = 8;

Container map_with(std::int64_t key_type, std::string_view where) {
  const DType key = dtype_of(key_type, where);
  if (key == DType::string) return Container::map_of_string;
  if (key == DType::i64) return Container::map_of_int64;
  fail(ErrorCode::unsupported, "{}: maps have keys of int64 or string, found {}", where, name_of(key));
}

DeclaredType tensor_type(const onnx::TypeProto::Tensor& tensor, std::string_view where) {
  DeclaredType declared;
  if (tensor.elem_type() != onnx::TensorProto::UNDEFINED) declared.type.dtype = dtype_of(tensor.elem_type(), where);
  if (!tensor.has_shape()) return declared;
  declared.type.shape.emplace();
  for (const auto& dim : tensor.shape().dim()) {
    const std::int64_t size = dim.has_dim_value() ? dim.dim_value() : -1;
    if (size < -1) fail(ErrorCode::invalid_model, "{}: dimension {} is negative", where, size);
    declared.type.shape->push_back(size);
    declared.dim_names.push_back(size >= 0 || dim.dim_param() == "?" ? "" : dim.dim_param());
  }
  return declared;
}

}  // namespace

DeclaredType declared_type(const onnx::TypeProto& proto, std::string_view where) {
  std::vector<Container> containers;
  for (const onnx::TypeProto* type = &proto;;) {
    if (containers.size() > kMostContainers) fail(ErrorCode::invalid_model, "{}: its type nests too deep", where);
    switch (type->value_case()) {
      case onnx::TypeProto::VALUE_NOT_SET: return {{DType::undefined, {}, std::move(containers)}, {}};
      case onnx::TypeProto::kTensorType: {
        DeclaredType declared = tensor_type(type->tensor_type(), where);
        if (!containers.empty()) declared.dim_names.clear();
        declared.type.containers = std::move(containers);
        return declared;
      }
      case onnx::TypeProto::kSequenceType:
        containers.push_back(Container::sequence);
        type = &type->sequence_type().elem_type();
        break;
      case onnx::TypeProto::kOptionalType:
        containers.push_back(Container::optional);
        type = &type->optional_type().elem_type();
        break;
      case onnx::TypeProto::kMapType:
        containers.push_back(map_with(type->map_type().key_type(), where));
        type = &type->map_type().value_type();
        break;
      default: fail(ErrorCode::unsupported, "{}: sparse tensors and opaque types are not supported", where);
    }
  }
}

std::optional<Shape> declared_shape(const OnnxGraph& graph, std::size_t input) {
  if (input >= graph.inputs.size()) return std::nullopt;
  return declared_type(graph.proto->input(static_cast<int>(input)).type(), "input of a nested graph").type.shape;
}

}  // namespace colonnade::onnx_import
