// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/lowering.hpp"
#include "frontends/onnx/tensor.hpp"

namespace colonnade::onnx_import {
namespace {

Tensor strings_tensor(std::vector<std::string> values, Shape shape) {
  Tensor tensor(DType::string, std::move(shape));
  tensor.strings() = std::move(values);
  return tensor;
}

Tensor constant_tensor(Lowering& low) {
  const OnnxNode& node = low.node();
  const std::string where = node.label() + ": attribute 'value'";
  if (const auto* sparse = find_sparse_tensor(node, "sparse_value")) return tensor_from(*sparse, where, low.external());
  if (const auto value = find_float(node, "value_float")) return floats_tensor({&*value, 1}, {});
  if (const auto values = find_floats(node, "value_floats")) {
    return floats_tensor(*values, {static_cast<std::int64_t>(values->size())});
  }
  if (const auto value = find_int(node, "value_int")) return ints_tensor({*value}).reshaped({});
  if (const auto values = find_ints(node, "value_ints")) return ints_tensor(*values);
  if (const auto value = find_string(node, "value_string")) return strings_tensor({*value}, {});
  if (const auto values = find_strings(node, "value_strings")) {
    return strings_tensor(*values, {static_cast<std::int64_t>(values->size())});
  }
  low.invalid("has no value");
}

Values lower_constant(Lowering& low) {
  const auto* proto = find_tensor(low.node(), "value");
  if (!proto) return {low.constant(constant_tensor(low))};
  return {low.constant(constant_from(*proto, low.node().label() + ": attribute 'value'", low.external()))};
}

Values lower_constant_of_shape(Lowering& low) {
  const auto* proto = find_tensor(low.node(), "value");
  if (!proto) return {low.emit(Fill{}, {low.input(0), scalar(low, DType::f32, 0)})};
  Tensor value = tensor_from(*proto, low.node().label() + ": attribute 'value'", low.external());
  if (value.size() != 1) low.invalid("attribute 'value': expected one element, found {}", value.size());
  return {low.emit(Fill{}, {low.input(0), low.constant(std::move(value).reshaped({}))})};
}

Values lower_range(Lowering& low) { return {low.emit(Range{}, {low.input(0), low.input(1), low.input(2)})}; }

/// Positions 0, 1, ... along one axis of a matrix.
ValueId axis_positions(Lowering& low, ValueId matrix, std::int64_t axis) {
  const ValueId size = squeeze(low, low.emit(ShapeOf{.start = axis, .end = axis + 1}, {matrix}), {0});
  return low.emit(Range{}, {int_scalar(low, 0), size, int_scalar(low, 1)});
}

Values lower_eye_like(Lowering& low) {
  const ValueId x = low.input(0);
  if (low.rank(x) != 2) low.invalid("expected a matrix, found rank {}", low.rank(x));
  const auto to = find_int(low.node(), "dtype");
  const DType dtype = to ? dtype_of(*to, low.node().label() + ": attribute 'dtype'") : low.dtype(x);
  const ValueId rows = unsqueeze(low, axis_positions(low, x, 0), {1});
  const ValueId diagonal = binary(low, BinaryKind::add, rows, int_scalar(low, low.int_or("k", 0)));
  const ValueId columns = unsqueeze(low, axis_positions(low, x, 1), {0});
  return {cast(low, binary(low, BinaryKind::equal, diagonal, columns), dtype)};
}

constexpr Row kConstantRows[] = {
    {kOnnxDomain, "Constant", 1, kNoLimit, 0, 0, 1, lower_constant},
    {kOnnxDomain, "ConstantOfShape", 9, kNoLimit, 1, 1, 1, lower_constant_of_shape},
    {kOnnxDomain, "Range", 11, kNoLimit, 3, 3, 1, lower_range},
    {kOnnxDomain, "EyeLike", 9, kNoLimit, 1, 1, 1, lower_eye_like},
};

}  // namespace

std::span<const Row> constant_rows() { return kConstantRows; }

}  // namespace colonnade::onnx_import
