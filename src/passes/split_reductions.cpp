// SPDX-License-Identifier: Apache-2.0
#include "passes/match.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

bool splits(ReduceKind kind) {
  return kind == ReduceKind::sum || kind == ReduceKind::mean || kind == ReduceKind::max || kind == ReduceKind::min;
}

bool split_reduction(Editor& editor, int index) {
  const Node node = editor.node(index);
  const auto* op = std::get_if<Reduce>(&node.op);
  if (op == nullptr || !op->keepdims || !splits(op->kind)) return false;
  if (!has_rank(editor, node.inputs[0]) || rank_of(editor, node.inputs[0]) != 4) return false;
  if (reduce_axes(editor, node) != Ints{1, 2}) return false;
  const Reduce reduce = *op;
  const ValueId width = editor.add_ints(node.name + "_width", {2});
  const ValueId rows = editor.add_ints(node.name + "_rows", {1});
  const ValueId by_row = editor.add(reduce, {node.inputs[0], width}, node);
  editor.replace(node.outputs[0], editor.add(reduce, {by_row, rows}, node));
  return true;
}

}  // namespace

bool split_reductions(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    if (editor.alive(index)) split_reduction(editor, index);
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
