// SPDX-License-Identifier: Apache-2.0
#include "families/typed_match.hpp"

#include <algorithm>

#include "families/common.hpp"
#include "families/kernel_type.hpp"
#include "families/permute.hpp"
#include "families/slice.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade {
namespace {

using kernels::typed::Type;

const kernels::typed::Kernel& kernel() { return kernels::typed::select(kernels::Isa::baseline); }

struct Typed : Subject {
  std::optional<Type> type(std::size_t index) const { return typed_type(input(index).type.dtype); }
  std::optional<Type> output_type() const { return typed_type(graph.value(node.outputs[0]).type.dtype); }
  bool is_index(std::size_t index) const {
    const DType dtype = input(index).type.dtype;
    return dtype == DType::i32 || dtype == DType::i64;
  }
};

bool has(const Unary& op, const Typed& s) {
  if (op.kind == UnaryKind::identity) return true;
  const auto kind = typed_unary(op.kind);
  const auto type = s.type(0);
  return kind && type && kernel().unary(*kind, *type);
}
/// The same bits by another name. Numbers of fewer bits than a byte has, and booleans, are looked at one by one.
bool has(const Opaque& op, const Typed& s) {
  const DType from = s.input(0).type.dtype, to = s.graph.value(s.node.outputs[0]).type.dtype;
  const auto is_byte = [](DType dtype) { return dtype == DType::u8 || dtype == DType::i8; };
  return op.definition == &reference::kBitCast && size_of(from) == size_of(to) &&
         (size_of(from) > 1 || (is_byte(from) && is_byte(to)));
}
bool has(const Binary& op, const Typed& s) {
  const auto kind = typed_binary(op.kind);
  const auto type = s.type(0);
  return kind && type && type == s.type(1) && kernel().binary(*kind, *type);
}
bool has(const Select&, const Typed&) { return true; }
bool has(const Cast&, const Typed& s) { return s.type(0) && s.output_type(); }
bool has(const ArgReduce&, const Typed& s) { return s.type(0).has_value(); }
bool has(const OneHot&, const Typed& s) { return s.is_index(0) && constant_ints(s.graph, s.node, 1); }
bool has(const Concat&, const Typed&) { return true; }
bool has(const Split&, const Typed& s) {
  return std::find(s.node.outputs.begin(), s.node.outputs.end(), kAbsent) == s.node.outputs.end();
}
bool has(const Slice&, const Typed& s) { return slice_axes_of(s.graph, s.node).has_value(); }
bool has(const Expand&, const Typed&) { return true; }
bool has(const Tile&, const Typed& s) { return constant_ints(s.graph, s.node, 1).has_value(); }
bool has(const Transpose&, const Typed&) { return true; }
bool has(const DepthToSpace&, const Typed& s) { return axis_order_of(s).has_value(); }
bool has(const SpaceToDepth&, const Typed& s) { return axis_order_of(s).has_value(); }
bool has(const Softmax& op, const Typed& s) {
  const Shape& shape = s.input_shape(0);
  const auto axis = normalize_axis(op.axis, static_cast<std::int64_t>(shape.size()), s.node);
  const bool has_kernel = s.type(0) == Type::f32 || s.type(0) == Type::f64;
  return has_kernel && element_count(std::span(shape).subspan(static_cast<std::size_t>(axis) + 1)) == 1;
}
template <class Op>
bool has(const Op&, const Typed&) {
  return false;
}

/// Known, numbers, and at least one of them.
bool is_plain(const Graph& graph, ValueId id) {
  const ValueType& type = graph.value(id).type;
  return type.is_static() && type.dtype != DType::string && element_count(*type.shape) > 0;
}

}  // namespace

std::optional<Type> typed_type(DType dtype) { return kernel_type<Type>(dtype); }

std::optional<kernels::typed::Unary> typed_unary(UnaryKind kind) {
  using kernels::typed::Unary;
  if (kind == UnaryKind::logical_not) return Unary::logical_not;
  if (kind == UnaryKind::is_nan) return Unary::is_nan;
  if (kind == UnaryKind::is_inf) return Unary::is_inf;
  if (kind == UnaryKind::neg) return Unary::neg;
  if (kind == UnaryKind::abs) return Unary::abs;
  if (kind == UnaryKind::sign) return Unary::sign;
  if (kind == UnaryKind::relu) return Unary::relu;
  if (kind == UnaryKind::bitwise_not) return Unary::bitwise_not;
  if (kind == UnaryKind::square) return Unary::square;
  if (kind == UnaryKind::floor) return Unary::floor;
  if (kind == UnaryKind::ceil) return Unary::ceil;
  if (kind == UnaryKind::round) return Unary::round;
  if (kind == UnaryKind::sqrt) return Unary::sqrt;
  if (kind == UnaryKind::reciprocal) return Unary::reciprocal;
  if (kind == UnaryKind::exp) return Unary::exp;
  if (kind == UnaryKind::sigmoid) return Unary::sigmoid;
  if (kind == UnaryKind::tanh) return Unary::tanh;
  if (kind == UnaryKind::log) return Unary::log;
  if (kind == UnaryKind::erf) return Unary::erf;
  if (kind == UnaryKind::sin) return Unary::sin;
  if (kind == UnaryKind::cos) return Unary::cos;
  return std::nullopt;
}

std::optional<kernels::typed::Binary> typed_binary(BinaryKind kind) {
  using kernels::typed::Binary;
  switch (kind) {
    case BinaryKind::add: return Binary::add;
    case BinaryKind::sub: return Binary::sub;
    case BinaryKind::mul: return Binary::mul;
    case BinaryKind::div: return Binary::div;
    case BinaryKind::min: return Binary::min;
    case BinaryKind::max: return Binary::max;
    case BinaryKind::squared_difference: return Binary::squared_difference;
    case BinaryKind::equal: return Binary::equal;
    case BinaryKind::less: return Binary::less;
    case BinaryKind::less_or_equal: return Binary::less_or_equal;
    case BinaryKind::greater: return Binary::greater;
    case BinaryKind::greater_or_equal: return Binary::greater_or_equal;
    case BinaryKind::logical_and: return Binary::logical_and;
    case BinaryKind::logical_or: return Binary::logical_or;
    case BinaryKind::logical_xor: return Binary::logical_xor;
    case BinaryKind::mod: return Binary::mod;
    case BinaryKind::fmod: return Binary::fmod;
    case BinaryKind::bitwise_and: return Binary::bitwise_and;
    case BinaryKind::bitwise_or: return Binary::bitwise_or;
    case BinaryKind::bitwise_xor: return Binary::bitwise_xor;
    case BinaryKind::shift_left: return Binary::shift_left;
    case BinaryKind::shift_right: return Binary::shift_right;
    case BinaryKind::pow: return Binary::pow;
    case BinaryKind::prelu: return Binary::prelu;
  }
  return std::nullopt;
}

ArgLines arg_lines(const Subject& subject, const ArgReduce& op) {
  const Shape& shape = subject.input_shape(0);
  const auto axis = normalize_axis(op.axis, static_cast<std::int64_t>(shape.size()), subject.node);
  const reference::AxisView view = reference::axis_view(shape, axis);
  return {view, (view.inner + kLinesOfBlock - 1) / kLinesOfBlock};
}

namespace {

/// More than what moving an element takes.
bool computes(const Chosen& node) {
  const Operator& op = node.node.op;
  if (const auto* unary = std::get_if<Unary>(&op)) return is_costly(unary->kind);
  if (const auto* arg = std::get_if<ArgReduce>(&op)) {
    constexpr std::int64_t kLongLine = 512;
    const reference::AxisView view = arg_lines(node, *arg).view;
    return view.inner == 1 && view.size < kLongLine;
  }
  const auto* binary = std::get_if<Binary>(&op);
  return binary != nullptr && (binary->kind == BinaryKind::div || binary->kind == BinaryKind::mod ||
                               binary->kind == BinaryKind::fmod || binary->kind == BinaryKind::pow);
}

/// Read and written: a copy moves each byte twice, two operands and a result are more.
double moved_bytes(const Chosen& node) {
  std::int64_t bytes = bytes_of(node.graph.value(node.node.outputs[0]));
  for (const ValueId id : node.node.inputs)
    if (id != kAbsent && node.graph.value(id).type.is_static()) bytes += bytes_of(node.graph.value(id));
  return static_cast<double>(bytes);
}

/// Element by element, in libm: vectors of 64 bits have no kernel for it.
bool calls_libm(const Chosen& node) {
  if (node.input(0).type.dtype != DType::f64) return false;
  const auto* unary = std::get_if<Unary>(&node.node.op);
  const auto* binary = std::get_if<Binary>(&node.node.op);
  return (unary != nullptr && (unary->kind == UnaryKind::log || unary->kind == UnaryKind::erf)) ||
         (binary != nullptr && (binary->kind == BinaryKind::pow || binary->kind == BinaryKind::fmod));
}

}  // namespace

Effort typed_effort(const Chosen& node, const Rates& rates) {
  constexpr double kElementsOfACall = 32;  // of a function of vectors
  if (!computes(node)) return {rates.seconds(Work::copy, std::max(larger_side_bytes(node), moved_bytes(node) / 2), 1)};
  Effort effort = element_effort<Work::function>(node, rates);
  if (calls_libm(node)) effort.seconds *= kElementsOfACall;
  return effort;
}

std::int64_t typed_units(const Chosen& node) {
  constexpr std::int64_t kMostUnits = 64, kElementsOfUnit = 8192;
  const Operator& op = node.node.op;
  if (const auto* arg = std::get_if<ArgReduce>(&op)) {
    const ArgLines lines = arg_lines(node, *arg);
    return std::min(kMostUnits, lines.view.outer * lines.blocks);
  }
  const bool undivided = std::holds_alternative<OneHot>(op) || std::holds_alternative<Softmax>(op);
  return undivided ? 1 : std::clamp<std::int64_t>(element_count(node.output_shape()) / kElementsOfUnit, 1, kMostUnits);
}

bool has_typed_kernel(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == kAbsent || node.outputs.empty()) return false;
  for (const auto& ids : {node.inputs, node.outputs})
    for (const ValueId id : ids)
      if (id != kAbsent && !is_plain(graph, id)) return false;
  if (node.outputs[0] == kAbsent) return false;
  return std::visit([&](const auto& op) { return has(op, Typed{{graph, node}}); }, node.op);
}

}  // namespace colonnade
