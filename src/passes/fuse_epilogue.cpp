// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/contraction.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

/// The contraction whose float32 sums nobody but one node input reads; -1 when there is none.
int sole_contraction(const Editor& editor, ValueId sums) {
  if (sums == kAbsent || !editor.read_once(sums) || editor.value(sums).type.dtype != DType::f32) return -1;
  const int index = editor.producer(sums);
  return index >= 0 && epilogue_of(editor.node(index).op) != nullptr ? index : -1;
}

bool takes_activation(const FusedEpilogue& epilogue) {
  return epilogue.activation.kind == UnaryKind::identity && !epilogue.prelu_slope && !epilogue.residual_after;
}

/// The contraction computes the node's output in place of its own.
void absorb(Editor& editor, int contraction, const FusedEpilogue& epilogue, std::vector<ValueId> inputs, int index) {
  Operator op = editor.node(contraction).op;
  *epilogue_of(op) = epilogue;
  editor.set_op(contraction, std::move(op));
  editor.set_inputs(contraction, std::move(inputs));
  editor.replace(editor.node(index).outputs[0], editor.node(contraction).outputs[0]);
}

std::vector<ValueId> inputs_with_bias_slot(const Node& contraction) {
  std::vector<ValueId> inputs = contraction.inputs;
  inputs.resize(std::max(inputs.size(), kBiasInput + 1), kAbsent);
  return inputs;
}

bool fuse_bias(Editor& editor, int index) {
  const Node& node = editor.node(index);
  const auto* op = std::get_if<Binary>(&node.op);
  if (op == nullptr || op->kind != BinaryKind::add) return false;
  for (const ValueId sums : {node.inputs[0], node.inputs[1]}) {
    const int contraction = sole_contraction(editor, sums);
    if (contraction < 0 || !is_plain(*epilogue_of(editor.node(contraction).op))) continue;
    if (!has_rank(editor, editor.node(contraction).inputs[1]) ||
        rank_of(editor, editor.node(contraction).inputs[1]) < 2)
      continue;
    const auto affine = affine_of(editor, node, sums);
    if (!affine || !fold_affine(editor, contraction, *affine)) continue;
    editor.replace(editor.node(index).outputs[0], sums);
    return true;
  }
  return false;
}

bool fuse_activation(Editor& editor, int index) {
  const auto* unary = std::get_if<Unary>(&editor.node(index).op);
  if (unary == nullptr || !is_fusable(unary->kind)) return false;
  const int contraction = sole_contraction(editor, editor.node(index).inputs[0]);
  if (contraction < 0) return false;
  FusedEpilogue epilogue = *epilogue_of(editor.node(contraction).op);
  if (!takes_activation(epilogue)) return false;
  epilogue.activation = *unary;
  absorb(editor, contraction, epilogue, editor.node(contraction).inputs, index);
  return true;
}

bool fuse_prelu(Editor& editor, int index) {
  if (!editor.is_one_of<Binary>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<Binary>(&node.op);
  if (op->kind != BinaryKind::prelu) return false;
  const int contraction = sole_contraction(editor, node.inputs[0]);
  if (contraction < 0 || !same_type(editor, node.inputs[0], node.outputs[0])) return false;
  FusedEpilogue epilogue = *epilogue_of(editor.node(contraction).op);
  const Shape& shape = *editor.value(node.outputs[0]).type.shape;
  if (!takes_activation(epilogue) || shape.empty() || shape.back() < 0) return false;
  const auto slopes = channel_constant(editor, node.inputs[1], shape.size(), shape.back());
  if (!slopes) return false;
  Tensor tensor(DType::f32, {shape.back()});
  for (std::size_t c = 0; c < tensor.values<float>().size(); ++c) {
    tensor.values<float>()[c] = static_cast<float>(element(*slopes, c, 1));
  }
  std::vector<ValueId> inputs = inputs_with_bias_slot(editor.node(contraction));
  const ValueId slope = editor.add_constant(node.name + "_slope", std::move(tensor));
  inputs.insert(epilogue.residual ? inputs.end() - 1 : inputs.end(), slope);
  epilogue.prelu_slope = true;
  absorb(editor, contraction, epilogue, std::move(inputs), index);
  return true;
}

/// Fuses the Add into the contraction that computes operand `slot`. Of open dimensions one may be broadcast.
bool fuse_residual(Editor& editor, int index, std::size_t slot) {
  const Node node = editor.node(index);
  const ValueId sums = node.inputs[slot], residual = node.inputs[1 - slot];
  const int contraction = sole_contraction(editor, sums);
  if (contraction < 0 || editor.is_constant(residual) || !same_static_type(editor, sums, residual)) return false;
  FusedEpilogue epilogue = *epilogue_of(editor.node(contraction).op);
  if (epilogue.residual) return false;
  epilogue.residual_after = !takes_activation(epilogue);
  epilogue.residual = true;
  std::vector<ValueId> inputs = inputs_with_bias_slot(editor.node(contraction));
  inputs.push_back(residual);
  absorb(editor, contraction, epilogue, std::move(inputs), index);
  return true;
}

bool fuse_add(Editor& editor, int index) {
  const auto* op = std::get_if<Binary>(&editor.node(index).op);
  if (op == nullptr || op->kind != BinaryKind::add) return false;
  const Node& node = editor.node(index);
  const bool second_is_later = editor.producer(node.inputs[1]) > editor.producer(node.inputs[0]);
  return fuse_residual(editor, index, second_is_later ? 1 : 0) || fuse_residual(editor, index, second_is_later ? 0 : 1);
}

}  // namespace

bool fuse_epilogue(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    for (const auto rule : {fuse_bias, fuse_activation, fuse_prelu, fuse_add}) {
      if (!editor.alive(index) || rule(editor, index)) break;
    }
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
