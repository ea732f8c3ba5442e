// SPDX-License-Identifier: Apache-2.0
#include "passes/transposes.hpp"

#include <algorithm>

#include "passes/match.hpp"
#include "passes/permutation.hpp"
#include "reference/reference.hpp"

namespace colonnade::rewrite {

bool merge_transposes(Editor& editor, int index) {
  if (!editor.is_one_of<Transpose>(index)) return false;
  const Node node = editor.node(index);
  const auto* outer = std::get_if<Transpose>(&node.op);
  const auto* inner = editor.produced_by<Transpose>(node.input(0));
  if (inner == nullptr || !has_rank(editor, node.inputs[0])) return false;
  const std::size_t rank = rank_of(editor, node.inputs[0]);
  const ValueId source = editor.node(editor.producer(node.inputs[0])).inputs[0];
  const Ints perm = compose(perm_of(*inner, rank), perm_of(*outer, rank));
  if (is_identity(perm)) {
    editor.replace(node.outputs[0], source);
    return true;
  }
  editor.set_op(index, Transpose{perm});
  editor.set_inputs(index, {source});
  return true;
}

bool transpose_to_reshape(Editor& editor, int index) {
  if (!editor.is_one_of<Transpose>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<Transpose>(&node.op);
  if (!has_rank(editor, node.inputs[0])) return false;
  const Shape shape = *editor.value(node.inputs[0]).type.shape;
  const Ints perm = perm_of(*op, shape.size());
  if (is_identity(perm) || !keeps_order(shape, perm)) return false;
  const auto result = add_reshape(editor, node.inputs[0], permuted(shape, perm), node);
  if (!result) return false;
  editor.replace(node.outputs[0], *result);
  return true;
}

bool shape_before_transpose(Editor& editor, int index) {
  if (!editor.is_one_of<ShapeOf>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<ShapeOf>(&node.op);
  const auto* transpose = editor.produced_by<Transpose>(node.input(0));
  if (transpose == nullptr || !has_rank(editor, node.inputs[0])) return false;
  const auto rank = static_cast<std::int64_t>(rank_of(editor, node.inputs[0]));
  const auto clamp = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = clamp(op->start), end = std::max(start, clamp(op->end.value_or(rank)));
  const Ints perm = perm_of(*transpose, static_cast<std::size_t>(rank));
  const ValueId source = editor.node(editor.producer(node.inputs[0])).inputs[0];
  const ValueId axes = editor.add_ints(node.name + "_axes", Ints(perm.begin() + start, perm.begin() + end));
  const ValueId shape = editor.add(ShapeOf{}, {source}, node);
  editor.replace(node.outputs[0], editor.add(Gather{0}, {shape, axes}, node));
  return true;
}

bool transpose_into_matmul(Editor& editor, int index) {
  for (std::size_t slot = 0; slot < 2; ++slot) {
    if (!editor.is_one_of<MatMul>(index)) return false;
    const Node node = editor.node(index);
    const auto* product = std::get_if<MatMul>(&node.op);
    const auto* op = editor.produced_by<Transpose>(node.inputs[slot]);
    if (op == nullptr || !has_rank(editor, node.inputs[slot])) continue;
    if (slot == 0 ? product->heads_inside_a : product->heads_inside_b) continue;
    Ints perm = perm_of(*op, rank_of(editor, node.inputs[slot]));
    const auto last = static_cast<std::int64_t>(perm.size()) - 1;
    if (last < 1 || perm.back() == last || perm[perm.size() - 2] != last) continue;
    std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
    const ValueId source = editor.node(editor.producer(node.inputs[slot])).inputs[0];
    std::vector<ValueId> inputs = node.inputs;
    inputs[slot] = is_identity(perm) ? source : editor.add(Transpose{perm}, {source}, node);
    MatMul swapped = *product;
    (slot == 0 ? swapped.transpose_a : swapped.transpose_b) ^= true;
    editor.set_op(index, swapped);
    editor.set_inputs(index, std::move(inputs));
    return true;
  }
  return false;
}

bool share_transpose(Editor& editor, int index) {
  const Node& node = editor.node(index);
  if (!std::holds_alternative<Transpose>(node.op)) return false;
  for (const int other : editor.readers(node.inputs[0])) {
    if (other >= index || !editor.alive(other) || !(editor.node(other).op == node.op)) continue;
    if (editor.needs_identity(node.outputs[0], editor.node(other).outputs[0])) continue;
    editor.replace(node.outputs[0], editor.node(other).outputs[0]);
    return true;
  }
  return false;
}

Tensor transposed(const Tensor& tensor, const Ints& perm) {
  const Node node{Transpose{perm}, {0}, {1}, "constant", "Transpose"};
  const Tensor* const input = &tensor;
  return std::move(reference::evaluate(node, {&input, 1}).at(0));
}

}  // namespace colonnade::rewrite
