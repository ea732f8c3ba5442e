// SPDX-License-Identifier: Apache-2.0
// Products of two values read and write the heads of attention where they lie, without Transposes around them.
#include "graph/contraction.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

/// Whether the Transpose swaps the two axes before the last.
bool swaps_heads(const Transpose& op, std::size_t rank) {
  if (rank < 3) return false;
  Ints swap = identity_perm(rank);
  std::swap(swap[rank - 3], swap[rank - 2]);
  return perm_of(op, rank) == swap;
}

/// A product of two float32 matrices of known shapes, neither of them constant, that has a kernel.
bool has_product_kernel(const Editor& editor, const Node& node) {
  if (!std::holds_alternative<MatMul>(node.op) || editor.is_constant(node.inputs[0]) ||
      editor.is_constant(node.inputs[1]) || (node.input(2) != kAbsent && !editor.is_constant(node.inputs[2])))
    return false;
  for (const ValueId id : {node.inputs[0], node.inputs[1], node.outputs[0]}) {
    const ValueType& type = editor.value(id).type;
    if (type.dtype != DType::f32 || !type.is_static()) return false;
  }
  return no_product_reason(editor.graph(), node).empty();
}

void read_heads(Editor& editor, int index) {
  MatMul product = std::get<MatMul>(editor.node(index).op);
  std::vector<ValueId> inputs = editor.node(index).inputs;
  for (std::size_t slot = 0; slot < 2; ++slot) {
    bool& inside = slot == 0 ? product.heads_inside_a : product.heads_inside_b;
    const auto* op = editor.produced_by<Transpose>(inputs[slot]);
    if (inside || op == nullptr || !swaps_heads(*op, rank_of(editor, inputs[slot]))) continue;
    inside = true;
    inputs[slot] = editor.node(editor.producer(inputs[slot])).inputs[0];
  }
  if (inputs == editor.node(index).inputs) return;
  editor.set_op(index, product);
  editor.set_inputs(index, std::move(inputs));
}

void write_heads(Editor& editor, int index) {
  const Node node = editor.node(index);
  MatMul product = std::get<MatMul>(node.op);
  if (product.heads_inside_out || product.epilogue.residual || !editor.read_once(node.outputs[0])) return;
  const int reader = editor.readers(node.outputs[0]).front();
  const auto* op = std::get_if<Transpose>(&editor.node(reader).op);
  if (op == nullptr || !swaps_heads(*op, rank_of(editor, node.outputs[0]))) return;
  product.heads_inside_out = true;
  editor.replace(editor.node(reader).outputs[0], editor.add(product, node.inputs, node));
}

}  // namespace

bool heads_in_products(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    if (!editor.alive(index) || !has_product_kernel(editor, editor.node(index))) continue;
    read_heads(editor, index);
    write_heads(editor, index);
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
