// SPDX-License-Identifier: Apache-2.0
// Attention and products of two values read and write heads where they lie, without Transposes around them.
#include <algorithm>

#include "graph/contraction.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

/// Whether a Transpose of `from` swaps two neighbouring axes of these sizes, behind which lie `inner` elements, and
/// moves nothing else but axes of size 1.
bool swaps(const Shape& from, const Ints& perm, std::int64_t first, std::int64_t second, std::int64_t inner) {
  Ints axes;  // that are not 1, in the order of the result
  for (const std::int64_t axis : perm)
    if (from[at(axis)] != 1) axes.push_back(axis);
  std::size_t place = 0;
  while (place + 1 < axes.size() && axes[place] < axes[place + 1]) ++place;
  if (place + 1 >= axes.size()) return false;
  std::swap(axes[place], axes[place + 1]);
  if (!std::is_sorted(axes.begin(), axes.end())) return false;
  std::int64_t behind = 1;
  for (std::size_t i = place + 2; i < axes.size(); ++i) behind *= from[at(axes[i])];
  return from[at(axes[place])] == first && from[at(axes[place + 1])] == second && behind == inner;
}

/// The shape without axes of size 1.
Shape narrow(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

Shape swapped_heads(Shape shape) {
  std::swap(shape[shape.size() - 3], shape[shape.size() - 2]);
  return shape;
}

/// A product of two float32 matrices of known shapes, neither of them constant, that has a kernel.
bool has_product_kernel(const Editor& editor, const Node& node) {
  if (!std::holds_alternative<MatMul>(node.op) || is_known(editor, node.inputs[0]) ||
      is_known(editor, node.inputs[1]) || (node.input(2) != kAbsent && !editor.is_constant(node.inputs[2])))
    return false;
  for (const ValueId id : {node.inputs[0], node.inputs[1], node.outputs[0]}) {
    const ValueType& type = editor.value(id).type;
    if (type.dtype != DType::f32 || !type.is_static()) return false;
  }
  return no_product_reason(editor.graph(), node).empty();
}

/// The value as it lies before a Transpose took its heads out; kAbsent where none did.
ValueId heads_inside(Editor& editor, ValueId operand, const Node& like) {
  const Shape shape = *editor.value(operand).type.shape;
  if (shape.size() < 3) return kAbsent;
  ValueId taken = operand;
  if (editor.produced_by<Reshape>(taken) != nullptr) taken = editor.node(editor.producer(taken)).inputs[0];
  const auto* op = editor.produced_by<Transpose>(taken);
  if (op == nullptr || !editor.value(taken).type.is_static()) return kAbsent;
  const ValueId source = editor.node(editor.producer(taken)).inputs[0];
  if (!editor.value(source).type.is_static()) return kAbsent;
  const Shape from = *editor.value(source).type.shape, inside = swapped_heads(shape);
  const bool same = narrow(*editor.value(taken).type.shape) == narrow(shape);
  const std::int64_t heads = shape[shape.size() - 3], rows = shape[shape.size() - 2];
  if (!same || !swaps(from, perm_of(*op, from.size()), rows, heads, shape.back())) return kAbsent;
  return from == inside ? source : *add_reshape(editor, source, inside, like);
}

/// Operands and result of an operator that may lie with their heads inside.
template <class Op>
struct Heads {
  std::initializer_list<bool Op::*> inputs;
  bool Op::*out;
};
constexpr Heads<MatMul> kOfProducts{{&MatMul::heads_inside_a, &MatMul::heads_inside_b}, &MatMul::heads_inside_out};
constexpr Heads<Attention> kOfAttention{
    {&Attention::heads_inside_q, &Attention::heads_inside_k, &Attention::heads_inside_v}, &Attention::heads_inside_out};

template <class Op>
void read_heads(Editor& editor, int index, const Heads<Op>& heads) {
  const Node node = editor.node(index);
  Op op = std::get<Op>(node.op);
  std::vector<ValueId> inputs = node.inputs;
  std::size_t slot = 0;
  for (bool Op::*const inside : heads.inputs) {
    const ValueId source = op.*inside ? kAbsent : heads_inside(editor, inputs[slot], node);
    if (source != kAbsent) {
      op.*inside = true;
      inputs[slot] = source;
    }
    ++slot;
  }
  if (inputs == node.inputs) return;
  editor.set_op(index, op);
  editor.set_inputs(index, std::move(inputs));
}

bool has_residual(const Node& node) {
  const FusedEpilogue* epilogue = epilogue_of(node.op);
  return epilogue != nullptr && epilogue->residual;
}

template <class Op>
void write_heads(Editor& editor, int index, const Heads<Op>& heads) {
  const Node node = editor.node(index);
  Op op = std::get<Op>(node.op);
  const ValueId out = node.outputs[0];
  if (op.*heads.out || has_residual(node) || !editor.read_once(out)) return;
  const int reader = editor.readers(out).front();
  const auto* turned = std::get_if<Transpose>(&editor.node(reader).op);
  const Shape shape = *editor.value(out).type.shape;
  if (turned == nullptr || shape.size() < 3) return;
  if (!swaps(shape, perm_of(*turned, shape.size()), shape[shape.size() - 3], shape[shape.size() - 2], shape.back()))
    return;
  op.*heads.out = true;
  const ValueId taken = editor.node(reader).outputs[0], inside = editor.add(op, node.inputs, node);
  const Shape wanted = *editor.value(taken).type.shape;
  editor.replace(taken, wanted == swapped_heads(shape) ? inside : *add_reshape(editor, inside, wanted, node));
}

bool has_static_types(const Editor& editor, const Node& node) {
  const auto is_static = [&](ValueId id) { return id == kAbsent || editor.value(id).type.is_static(); };
  return std::ranges::all_of(node.inputs, is_static) && std::ranges::all_of(node.outputs, is_static);
}

template <class Op>
void move_heads(Editor& editor, int index, const Heads<Op>& heads) {
  read_heads(editor, index, heads);
  write_heads(editor, index, heads);
}

}  // namespace

bool heads_in_products(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    if (!editor.alive(index)) continue;
    const Node& node = editor.node(index);
    if (std::holds_alternative<Attention>(node.op)) {
      if (has_static_types(editor, node)) move_heads(editor, index, kOfAttention);
    } else if (has_product_kernel(editor, node)) {
      move_heads(editor, index, kOfProducts);
    }
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
