// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/lowering.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "frontends/onnx/tensor.hpp"

namespace colonnade::onnx_import {

std::string Names::fresh(const std::string& hint) {
  if (taken_.insert(hint).second) return hint;
  for (int& i = next_[hint];;) {
    std::string name = fmt::format("{}.{}", hint, ++i);
    if (taken_.insert(name).second) return name;
  }
}

ValueId push_value(Graph& graph, std::string name, ValueType type, std::shared_ptr<const Constant> constant) {
  if (graph.values.size() >= static_cast<std::size_t>(std::numeric_limits<ValueId>::max())) {
    fail(ErrorCode::resource_limit, "the model has more than {} values", std::numeric_limits<ValueId>::max());
  }
  graph.values.push_back({std::move(name), std::move(type), {}, std::move(constant)});
  return static_cast<ValueId>(graph.values.size()) - 1;
}

ValueId Lowering::input(std::size_t index) const {
  const ValueId id = optional_input(index);
  if (id == kAbsent) invalid("input {} is required", index);
  return id;
}

std::string Lowering::string_or(std::string_view name, std::string_view fallback) const {
  return find_string(node_, name).value_or(std::string(fallback));
}

std::int64_t Lowering::required_int(std::string_view name) const {
  const auto value = find_int(node_, name);
  if (!value) invalid("attribute '{}' is required", name);
  return *value;
}

std::string Lowering::required_string(std::string_view name) const {
  auto value = find_string(node_, name);
  if (!value) invalid("attribute '{}' is required", name);
  return *std::move(value);
}

Ints Lowering::required_ints(std::string_view name) const {
  auto value = find_ints(node_, name);
  if (!value) invalid("attribute '{}' is required", name);
  return *std::move(value);
}

std::int64_t Lowering::rank(ValueId id) const {
  const auto& known = shape(id);
  if (!known) unsupported("the rank of '{}' is not known", printable(graph().value(id).name));
  return static_cast<std::int64_t>(known->size());
}

std::int64_t Lowering::dim(ValueId id, std::int64_t axis) const {
  const auto& known = shape(id);
  return known && axis >= 0 && axis < static_cast<std::int64_t>(known->size())
             ? (*known)[static_cast<std::size_t>(axis)]
             : -1;
}

bool Lowering::is_empty(ValueId id) const {
  if (id == kAbsent) return true;
  const auto& known = shape(id);
  return known && known->size() == 1 && known->front() == 0;
}

const OnnxGraph& Lowering::required_graph(std::string_view name) const {
  const auto graph = node_.graphs.find(name);
  if (graph == node_.graphs.end()) invalid("attribute '{}' is required, a graph", name);
  return *graph->second;
}

Graph Lowering::body(std::string_view name, const std::vector<ValueType>& inputs) {
  const OnnxGraph& source = required_graph(name);
  if (source.inputs.size() != inputs.size()) {
    invalid("attribute '{}': expected a graph of {} inputs, found {}", name, inputs.size(), source.inputs.size());
  }
  return target_.import_body(source, inputs);
}

Values Lowering::emit_all(Operator op, Values inputs, std::size_t outputs) {
  Graph& graph = target_.graph;
  Node node{std::move(op), std::move(inputs), Values(outputs, kAbsent), printable(node_.name), node_.op_type};
  if (node_.domain != kOnnxDomain) node.origin = fmt::format("{}::{}", printable(node_.domain), node_.op_type);
  const std::string hint = fmt::format("{}/{}", printable(node_.name), name_of(node.op));
  for (auto& output : node.outputs) output = push_value(graph, target_.names.fresh(hint), {});
  learn_ranks(graph, node);
  const std::vector<ValueType> types = infer_types(graph, node);
  for (std::size_t i = 0; i < outputs && i < types.size(); ++i) graph.value(node.outputs[i]).type = types[i];
  Values results = node.outputs;
  graph.nodes.push_back(std::move(node));
  return results;
}

ValueId Lowering::constant(Tensor tensor) { return constant(std::make_shared<const Constant>(std::move(tensor))); }

ValueId Lowering::constant(std::shared_ptr<const Constant> constant) {
  ValueType type{constant->dtype(), constant->shape()};
  std::string name = target_.names.fresh(printable(node_.name) + "/constant");
  return push_value(target_.graph, std::move(name), std::move(type), std::move(constant));
}

ValueId ints(Lowering& low, const Ints& values) { return low.constant(ints_tensor(values)); }

ValueId int_scalar(Lowering& low, std::int64_t value) {
  Tensor tensor(DType::i64, {});
  tensor.values<std::int64_t>()[0] = value;
  return low.constant(std::move(tensor));
}

ValueId floats(Lowering& low, std::span<const float> values, Shape shape) {
  return low.constant(floats_tensor(values, std::move(shape)));
}

namespace {

template <class T>
Tensor scalar_tensor(const Lowering& low, DType dtype, double value) {
  const T converted = static_cast<T>(value);
  if (static_cast<double>(converted) != value && !is_float(dtype)) {
    low.invalid("{} cannot hold {}", name_of(dtype), value);
  }
  Tensor tensor(dtype, {});
  tensor.values<T>()[0] = converted;
  return tensor;
}

template <class T>
bool fits(double value) {
  return value >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
         value <= static_cast<double>(std::numeric_limits<T>::max());
}

template <class T>
Tensor integer_scalar(const Lowering& low, DType dtype, double value) {
  if (!fits<T>(value) || (sizeof(T) == 8 && std::abs(value) >= 0x1p63))
    low.invalid("{} cannot hold {}", name_of(dtype), value);
  return scalar_tensor<T>(low, dtype, value);
}

/// A scalar of fewer bits than its byte.
Tensor narrow_scalar(const Lowering& low, DType dtype, double value) {
  const Tensor wide = integer_scalar<std::int8_t>(low, dtype, value);
  Tensor tensor(dtype, {});
  const std::uint8_t element = wide.values<std::uint8_t>()[0];
  if (element_of_bits(dtype, element) != element) low.invalid("{} cannot hold {}", name_of(dtype), value);
  tensor.values<std::uint8_t>()[0] = element;
  return tensor;
}

}  // namespace

ValueId scalar(Lowering& low, DType dtype, double value) {
  switch (dtype) {
    case DType::f32: return low.constant(scalar_tensor<float>(low, dtype, value));
    case DType::f64: return low.constant(scalar_tensor<double>(low, dtype, value));
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
    case DType::f6e2m3:
    case DType::f6e3m2:
    case DType::f4e2m1: return cast(low, scalar(low, DType::f32, value), dtype);
    case DType::i4:
    case DType::u4:
    case DType::i2:
    case DType::u2: return low.constant(narrow_scalar(low, dtype, value));
    case DType::i8: return low.constant(integer_scalar<std::int8_t>(low, dtype, value));
    case DType::i16: return low.constant(integer_scalar<std::int16_t>(low, dtype, value));
    case DType::i32: return low.constant(integer_scalar<std::int32_t>(low, dtype, value));
    case DType::i64: return low.constant(integer_scalar<std::int64_t>(low, dtype, value));
    case DType::u8: return low.constant(integer_scalar<std::uint8_t>(low, dtype, value));
    case DType::u16: return low.constant(integer_scalar<std::uint16_t>(low, dtype, value));
    case DType::u32: return low.constant(integer_scalar<std::uint32_t>(low, dtype, value));
    case DType::u64: return low.constant(integer_scalar<std::uint64_t>(low, dtype, value));
    case DType::boolean: {
      Tensor tensor(DType::boolean, {});
      tensor.values<std::uint8_t>()[0] = value != 0;
      return low.constant(std::move(tensor));
    }
    case DType::undefined:
    case DType::string:
    case DType::c64:
    case DType::c128: break;
  }
  low.unsupported("element type {} is not supported here", name_of(dtype));
}

Values lower_opaque(Lowering& low, const Definition& definition) {
  return lower_opaque(low, definition, attributes_of(low.node(), low.external()), low.inputs());
}

Values lower_opaque(Lowering& low, const Definition& definition, Attributes attributes, Values inputs) {
  const auto made = [&] {
    try {
      return make_opaque(definition, low.opset(), std::move(attributes));
    } catch (const Error& error) {
      low.invalid("{}", error.what());
    }
  };
  return low.emit_all(made(), std::move(inputs), low.output_count());
}

ValueId unary(Lowering& low, UnaryKind kind, ValueId x, float a, float b) { return low.emit(Unary{kind, a, b}, {x}); }

ValueId binary(Lowering& low, BinaryKind kind, ValueId a, ValueId b) { return low.emit(Binary{kind}, {a, b}); }

ValueId binary_scalar(Lowering& low, BinaryKind kind, ValueId a, double b) {
  return binary(low, kind, a, scalar(low, low.dtype(a), b));
}

ValueId select(Lowering& low, ValueId condition, ValueId x, ValueId y) { return low.emit(Select{}, {condition, x, y}); }

ValueId cast(Lowering& low, ValueId x, DType to) { return low.dtype(x) == to ? x : low.emit(Cast{to}, {x}); }

ValueId transpose(Lowering& low, ValueId x, Ints perm) { return low.emit(Transpose{std::move(perm)}, {x}); }

namespace {

/// A constant of the same elements under another shape; kAbsent when x is no constant or has too few axes.
ValueId reshaped_constant(Lowering& low, ValueId x, const Ints& axes) {
  const auto constant = low.constant_of(x);
  if (!constant) return kAbsent;
  Shape shape = constant->shape();
  for (const std::int64_t axis : axes) {
    if (axis < 0 || axis > static_cast<std::int64_t>(shape.size())) return kAbsent;
    shape.insert(shape.begin() + axis, 1);
  }
  return low.constant(reshaped(constant, std::move(shape)));
}

}  // namespace

ValueId unsqueeze(Lowering& low, ValueId x, const Ints& axes) {
  const ValueId folded = reshaped_constant(low, x, axes);
  return folded != kAbsent ? folded : low.emit(Unsqueeze{}, {x, ints(low, axes)});
}

ValueId squeeze(Lowering& low, ValueId x, const Ints& axes) { return low.emit(Squeeze{}, {x, ints(low, axes)}); }

ValueId reshape(Lowering& low, ValueId x, const Ints& shape) { return low.emit(Reshape{}, {x, ints(low, shape)}); }

ValueId reshape_like(Lowering& low, ValueId x, ValueId like) {
  const auto& known = low.shape(like);
  const bool is_static = known && std::all_of(known->begin(), known->end(), [](std::int64_t dim) { return dim >= 0; });
  const ValueId shape = is_static ? ints(low, *known) : shape_of(low, like);
  return low.emit(Reshape{.allow_zero = true}, {x, shape});
}

ValueId shape_of(Lowering& low, ValueId x) { return low.emit(ShapeOf{}, {x}); }

ValueId reduce(Lowering& low, ReduceKind kind, ValueId x, const Ints& axes, bool keepdims) {
  return low.emit(Reduce{.kind = kind, .keepdims = keepdims}, {x, ints(low, axes)});
}

Ints axes_between(std::int64_t first, std::int64_t last) {
  Ints axes(static_cast<std::size_t>(std::max<std::int64_t>(0, last - first)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

std::int64_t checked_axis(const Lowering& low, std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) low.invalid("axis {} is out of range for rank {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

ValueId to_channels_last(Lowering& low, ValueId x, std::int64_t rank) {
  Ints perm = {0};
  for (std::int64_t axis = 2; axis < rank; ++axis) perm.push_back(axis);
  perm.push_back(1);
  return transpose(low, x, std::move(perm));
}

ValueId to_channels_first(Lowering& low, ValueId x, std::int64_t rank) {
  Ints perm = {0, rank - 1};
  for (std::int64_t axis = 1; axis < rank - 1; ++axis) perm.push_back(axis);
  return transpose(low, x, std::move(perm));
}

}  // namespace colonnade::onnx_import
