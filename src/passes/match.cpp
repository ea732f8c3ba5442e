// SPDX-License-Identifier: Apache-2.0
#include "passes/match.hpp"

#include <algorithm>
#include <cmath>

#include "passes/permutation.hpp"

namespace colonnade::rewrite {

std::optional<double> scalar_of(const Editor& editor, ValueId id) {
  if (!editor.is_constant(id)) return std::nullopt;
  if (editor.value(id).constant->size() != 1) return std::nullopt;
  const auto held = editor.value(id).constant->tensor();
  const Tensor& tensor = *held;
  if (tensor.dtype() == DType::f32) return tensor.values<float>()[0];
  if (tensor.dtype() == DType::f64) return tensor.values<double>()[0];
  return std::nullopt;
}

bool all_are(const Ints& values, std::int64_t expected) {
  return std::ranges::all_of(values, [expected](std::int64_t value) { return value == expected; });
}

bool nearly(double a, double b) { return std::abs(a - b) <= 1e-5 * std::max(std::abs(a), std::abs(b)); }

std::optional<Operands> match_binary(const Editor& editor, ValueId id, BinaryKind kind) {
  const auto* op = editor.produced_by<Binary>(id);
  if (op == nullptr || op->kind != kind || op->exact) return std::nullopt;
  const Node& node = editor.node(editor.producer(id));
  return Operands{node.inputs[0], node.inputs[1]};
}

std::optional<ScaledOperand> match_scalar(const Editor& editor, ValueId id, BinaryKind kind) {
  const auto operands = match_binary(editor, id, kind);
  if (!operands) return std::nullopt;
  const auto keeps_type = [&](ValueId operand) { return same_type(editor, operand, id); };
  if (const auto b = scalar_of(editor, operands->b); b && keeps_type(operands->a)) {
    return ScaledOperand{operands->a, *b};
  }
  if (kind != BinaryKind::add && kind != BinaryKind::mul && kind != BinaryKind::min && kind != BinaryKind::max) {
    return std::nullopt;
  }
  const auto a = scalar_of(editor, operands->a);
  return a && keeps_type(operands->b) ? std::optional(ScaledOperand{operands->b, *a}) : std::nullopt;
}

std::optional<ValueId> match_unary(const Editor& editor, ValueId id, UnaryKind kind) {
  const auto* op = editor.produced_by<Unary>(id);
  if (op == nullptr || op->kind != kind) return std::nullopt;
  return editor.node(editor.producer(id)).inputs[0];
}

std::optional<ScaledOperand> match_scale(const Editor& editor, ValueId id) {
  if (const auto product = match_scalar(editor, id, BinaryKind::mul)) return product;
  const auto quotient = match_scalar(editor, id, BinaryKind::div);
  if (!quotient || quotient->scalar == 0) return std::nullopt;
  return ScaledOperand{quotient->value, 1.0 / quotient->scalar};
}

bool same_type(const Editor& editor, ValueId a, ValueId b) {
  return editor.value(a).type.shape && editor.value(a).type == editor.value(b).type;
}

bool is_width_cast(const Editor& editor, const Node& node) {
  const auto is_narrow = [](DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; };
  const auto* cast = std::get_if<Cast>(&node.op);
  return cast != nullptr && (is_narrow(cast->to) || is_narrow(editor.value(node.inputs[0]).type.dtype));
}

bool same_static_type(const Editor& editor, ValueId a, ValueId b) {
  return editor.value(a).type.is_static() && same_type(editor, a, b);
}

bool has_rank(const Editor& editor, ValueId id) { return id != kAbsent && editor.value(id).type.shape.has_value(); }

std::size_t rank_of(const Editor& editor, ValueId id) { return editor.value(id).type.shape->size(); }

bool is_known(const Editor& editor, ValueId id) {
  if (editor.is_constant(id)) return true;
  const int index = editor.producer(id);
  return index >= 0 && std::ranges::all_of(editor.node(index).inputs,
                                           [&](ValueId input) { return input == kAbsent || is_known(editor, input); });
}

std::optional<Ints> reduce_axes(const Editor& editor, const Node& node) {
  const auto* op = std::get_if<Reduce>(&node.op);
  if (op == nullptr || !has_rank(editor, node.inputs[0])) return std::nullopt;
  const std::size_t rank = rank_of(editor, node.inputs[0]);
  const auto given = constant_ints(editor.graph(), node, 1);
  if (node.input(1) != kAbsent && !given) return std::nullopt;
  if (!given || given->empty()) return op->noop_with_empty_axes ? Ints{} : identity_perm(rank);
  Ints axes;
  for (const std::int64_t axis : *given) axes.push_back(normalize_axis(axis, static_cast<std::int64_t>(rank), node));
  std::sort(axes.begin(), axes.end());
  return axes;
}

std::optional<ValueId> add_reshape(Editor& editor, ValueId value, const Shape& shape, const Node& like) {
  const auto target = reshape_target(shape);
  if (!target) return std::nullopt;
  const bool allow_zero = std::count(target->begin(), target->end(), 0) > 0;
  const Node copy{Reshape{}, {}, {}, like.name, like.origin};
  const ValueId constant = editor.add_ints(like.name + "_shape", *target);
  return editor.add(Reshape{allow_zero}, {value, constant}, copy);
}

}  // namespace colonnade::rewrite
