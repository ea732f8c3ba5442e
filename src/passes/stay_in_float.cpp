// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "reference/elements.hpp"

namespace colonnade::rewrite {
namespace {

constexpr int kMaxFloatChain = 8;
/// Integers up to here, and their sums and differences, are exact in float32.
constexpr double kExactFloat = 0x1p23;

/// Bounds of a value whose elements are integers.
struct IntegerRange {
  double low, high;
};

IntegerRange range_of(DType dtype) {
  return {static_cast<double>(reference::lowest_of<std::int64_t>(dtype)),
          static_cast<double>(reference::highest_of<std::int64_t>(dtype))};
}

bool is_small_integer(DType dtype) {
  return (reference::is_signed(dtype) || reference::is_unsigned(dtype)) && dtype != DType::boolean &&
         bits_of(dtype) <= 16;
}

std::optional<IntegerRange> integer_range(const Editor& editor, ValueId id, int chain = 0);

std::optional<IntegerRange> unary_range(const Editor& editor, const Unary& op, ValueId x, int chain) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (op.kind == UnaryKind::round || op.kind == UnaryKind::floor || op.kind == UnaryKind::ceil)
    return IntegerRange{-kInfinity, kInfinity};
  if (op.kind != UnaryKind::clip) return std::nullopt;
  const auto range = integer_range(editor, x, chain);
  const double low = static_cast<double>(op.a), high = static_cast<double>(op.b);
  if (!range || low != std::floor(low) || high != std::floor(high) || low > high) return std::nullopt;
  return IntegerRange{std::clamp(range->low, low, high), std::clamp(range->high, low, high)};
}

std::optional<IntegerRange> sum_range(const Editor& editor, const Node& node, BinaryKind kind, int chain) {
  if (kind != BinaryKind::add && kind != BinaryKind::sub) return std::nullopt;
  const auto a = integer_range(editor, node.inputs[0], chain), b = integer_range(editor, node.inputs[1], chain);
  if (!a || !b) return std::nullopt;
  return kind == BinaryKind::add ? IntegerRange{a->low + b->low, a->high + b->high}
                                 : IntegerRange{a->low - b->high, a->high - b->low};
}

/// What is known of the value's elements; nothing where they may be fractions.
std::optional<IntegerRange> integer_range(const Editor& editor, ValueId id, int chain) {
  if (const auto scalar = scalar_of(editor, id)) {
    return *scalar == std::floor(*scalar) ? std::optional(IntegerRange{*scalar, *scalar}) : std::nullopt;
  }
  if (chain == kMaxFloatChain || editor.producer(id) < 0) return std::nullopt;
  const Node& node = editor.node(editor.producer(id));
  if (const auto* op = std::get_if<Unary>(&node.op)) return unary_range(editor, *op, node.inputs[0], chain + 1);
  if (const auto* op = std::get_if<Binary>(&node.op)) return sum_range(editor, node, op->kind, chain + 1);
  if (!std::holds_alternative<Cast>(node.op)) return std::nullopt;
  const DType from = editor.value(node.inputs[0]).type.dtype;
  return is_small_integer(from) ? std::optional(range_of(from)) : std::nullopt;
}

/// Cast(Cast(x to a small integer) to float32) of integers in that one's range is x.
bool drop_casts(Editor& editor, int index) {
  const Node& node = editor.node(index);
  const auto* back = std::get_if<Cast>(&node.op);
  const auto* there = back != nullptr ? editor.produced_by<Cast>(node.inputs[0]) : nullptr;
  if (there == nullptr || back->to != DType::f32 || !is_small_integer(there->to)) return false;
  const ValueId x = editor.node(editor.producer(node.inputs[0])).inputs[0];
  if (editor.value(x).type.dtype != DType::f32) return false;
  const auto range = integer_range(editor, x);
  const IntegerRange limits = range_of(there->to);
  if (!range || range->low < limits.low || range->high > limits.high) return false;
  editor.replace(node.outputs[0], x);
  return true;
}

/// x + c - c is x where all are integers that float32 holds.
bool drop_shift(Editor& editor, int index) {
  const Node& node = editor.node(index);
  const auto* minus = std::get_if<Binary>(&node.op);
  const auto* plus = minus != nullptr ? editor.produced_by<Binary>(node.inputs[0]) : nullptr;
  if (plus == nullptr || minus->kind != BinaryKind::sub || plus->kind != BinaryKind::add) return false;
  const Node& sum = editor.node(editor.producer(node.inputs[0]));
  const auto added = scalar_of(editor, sum.inputs[1]), removed = scalar_of(editor, node.inputs[1]);
  if (!added || added != removed || editor.value(node.outputs[0]).type.dtype != DType::f32) return false;
  const auto range = integer_range(editor, sum.inputs[0]);
  if (!range || !same_type(editor, sum.inputs[0], node.outputs[0])) return false;
  if (std::max(std::abs(range->low), std::abs(range->high)) + std::abs(*added) > kExactFloat) return false;
  editor.replace(node.outputs[0], sum.inputs[0]);
  return true;
}

/// Small integers times a scale.
bool is_dequantised(const Editor& editor, ValueId id, int chain = 0) {
  if (chain == kMaxFloatChain || editor.producer(id) < 0) return false;
  const Node& node = editor.node(editor.producer(id));
  if (std::holds_alternative<Dequantize>(node.op)) return true;
  if (std::holds_alternative<Transpose>(node.op) || std::holds_alternative<Reshape>(node.op)) {
    return is_dequantised(editor, node.inputs[0], chain + 1);
  }
  const auto scaled = match_scale(editor, id);
  const auto range = scaled ? integer_range(editor, scaled->value) : std::nullopt;
  return range && range->low >= -kExactFloat && range->high <= kExactFloat;
}

/// What follows rounds such sums to integers again: ties must stay ties, which Winograd's transforms do not see to.
bool keep_sums(Editor& editor, int index) {
  const Node& node = editor.node(index);
  const auto* conv = std::get_if<Conv>(&node.op);
  if (conv == nullptr || conv->exact || !is_dequantised(editor, node.inputs[0])) return false;
  Conv exact = *conv;
  exact.exact = true;
  editor.set_op(index, std::move(exact));
  return true;
}

}  // namespace

bool stay_in_float(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    for (const auto rule : {drop_casts, drop_shift, keep_sums}) {
      if (!editor.alive(index) || rule(editor, index)) break;
    }
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
