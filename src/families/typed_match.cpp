// SPDX-License-Identifier: Apache-2.0
#include "families/typed_match.hpp"

#include <algorithm>

#include "families/slice.hpp"

namespace colonnade {
namespace {

using kernels::typed::Type;

// Element by element a transposition is slower than oneDNN's; below this it does not matter.
constexpr std::int64_t kFewElements = 4096;

const kernels::typed::Kernel& kernel() { return kernels::typed::select(kernels::Isa::baseline); }

struct Subject {
  const Graph& graph;
  const Node& node;

  const Value& input(std::size_t index) const { return graph.value(node.inputs[index]); }
  bool has_input(std::size_t index) const { return node.input(index) != kAbsent; }
  const Shape& shape(std::size_t index) const { return input(index).type.static_shape(); }
  std::optional<Type> type(std::size_t index) const { return typed_type(input(index).type.dtype); }
  std::optional<Type> output_type() const { return typed_type(graph.value(node.outputs[0]).type.dtype); }
  bool is_index(std::size_t index) const {
    const DType dtype = input(index).type.dtype;
    return dtype == DType::i32 || dtype == DType::i64;
  }
  bool is_constant(std::size_t index) const { return !has_input(index) || input(index).constant; }
};

bool has(const Unary& op, const Subject& s) {
  if (op.kind == UnaryKind::identity) return true;
  const auto kind = typed_unary(op.kind);
  const auto type = s.type(0);
  return kind && type && kernel().unary(*kind, *type);
}
bool has(const Binary& op, const Subject& s) {
  const auto kind = typed_binary(op.kind);
  const auto type = s.type(0);
  return kind && type && type == s.type(1) && kernel().binary(*kind, *type);
}
bool has(const Select&, const Subject&) { return true; }
bool has(const Cast&, const Subject& s) { return s.type(0) && s.output_type(); }
bool has(const Gather&, const Subject& s) { return s.is_index(1); }
bool has(const ArgReduce&, const Subject& s) { return s.type(0).has_value(); }
bool has(const OneHot&, const Subject& s) { return s.is_index(0) && constant_ints(s.graph, s.node, 1); }
bool has(const Concat&, const Subject&) { return true; }
bool has(const Split&, const Subject& s) {
  return std::find(s.node.outputs.begin(), s.node.outputs.end(), kAbsent) == s.node.outputs.end();
}
bool has(const Slice&, const Subject& s) { return slice_axes_of(s.graph, s.node).has_value(); }
bool has(const Expand&, const Subject&) { return true; }
bool has(const Tile&, const Subject& s) { return constant_ints(s.graph, s.node, 1).has_value(); }
bool has(const Transpose& op, const Subject& s) {
  const bool runs = !op.perm.empty() && op.perm.back() == static_cast<std::int64_t>(op.perm.size()) - 1;
  const bool float32 = s.input(0).type.dtype == DType::f32;
  return !float32 || runs || element_count(s.shape(0)) <= kFewElements;
}
bool has(const Softmax& op, const Subject& s) {
  const Shape& shape = s.shape(0);
  const auto axis = normalize_axis(op.axis, static_cast<std::int64_t>(shape.size()), s.node);
  return s.type(0) == Type::f32 && element_count(std::span(shape).subspan(static_cast<std::size_t>(axis) + 1)) == 1;
}
template <class Op>
bool has(const Op&, const Subject&) {
  return false;
}

/// Known, numbers, and at least one of them.
bool is_plain(const Graph& graph, ValueId id) {
  const ValueType& type = graph.value(id).type;
  return type.is_static() && type.dtype != DType::string && element_count(*type.shape) > 0;
}

}  // namespace

std::optional<Type> typed_type(DType dtype) {
  if (dtype == DType::f32) return Type::f32;
  if (dtype == DType::f64) return Type::f64;
  if (dtype == DType::i8) return Type::i8;
  if (dtype == DType::u8) return Type::u8;
  if (dtype == DType::i32) return Type::i32;
  if (dtype == DType::i64) return Type::i64;
  if (dtype == DType::boolean) return Type::boolean;
  return std::nullopt;
}

std::optional<kernels::typed::Unary> typed_unary(UnaryKind kind) {
  using kernels::typed::Unary;
  if (kind == UnaryKind::logical_not) return Unary::logical_not;
  if (kind == UnaryKind::is_nan) return Unary::is_nan;
  if (kind == UnaryKind::neg) return Unary::neg;
  if (kind == UnaryKind::abs) return Unary::abs;
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
    case BinaryKind::pow:
    case BinaryKind::mod:
    case BinaryKind::fmod:
    case BinaryKind::prelu:
    case BinaryKind::bitwise_and:
    case BinaryKind::bitwise_or:
    case BinaryKind::bitwise_xor: break;
  }
  return std::nullopt;
}

bool has_typed_kernel(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == kAbsent || node.outputs.empty()) return false;
  for (const auto& ids : {node.inputs, node.outputs})
    for (const ValueId id : ids)
      if (id != kAbsent && !is_plain(graph, id)) return false;
  if (node.outputs[0] == kAbsent) return false;
  return std::visit([&](const auto& op) { return has(op, Subject{graph, node}); }, node.op);
}

}  // namespace colonnade
