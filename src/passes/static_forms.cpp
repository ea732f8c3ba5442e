// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "passes/permutation.hpp"
#include "passes/reshapes.hpp"
#include "passes/transposes.hpp"

namespace colonnade::rewrite {
namespace {

bool all_are(const std::optional<Ints>& ints, std::int64_t expected) {
  return ints && std::all_of(ints->begin(), ints->end(), [&](std::int64_t v) { return v == expected; });
}

bool keeps_all(const Editor& editor, const Node& node) {
  return same_static_type(editor, node.inputs[0], node.outputs[0]);
}

bool is_noop(const Editor&, const Node&, const Unary& op) { return op.kind == UnaryKind::identity; }

bool is_noop(const Editor& editor, const Node& node, const Cast& op) {
  return editor.value(node.inputs[0]).type.dtype == op.to;
}

bool is_noop(const Editor& editor, const Node& node, const Pad&) {
  return all_are(constant_ints(editor.graph(), node, 1), 0);
}

bool is_noop(const Editor& editor, const Node& node, const Tile&) {
  return all_are(constant_ints(editor.graph(), node, 1), 1);
}

bool is_noop(const Editor& editor, const Node& node, const Slice&) {
  return keeps_all(editor, node) && (node.input(4) == kAbsent || all_are(constant_ints(editor.graph(), node, 4), 1));
}

bool is_noop(const Editor& editor, const Node& node, const Transpose& op) {
  return has_rank(editor, node.inputs[0]) && is_identity(perm_of(op, rank_of(editor, node.inputs[0])));
}

bool is_noop(const Editor& editor, const Node& node, const Resize& op) {
  if (!keeps_all(editor, node) || op.coordinates == CoordinateMode::tf_crop_and_resize) return false;
  const auto scales = constant_floats(editor.graph(), node, 2);
  return node.input(2) == kAbsent ||
         (scales && std::all_of(scales->begin(), scales->end(), [](float scale) { return scale == 1; }));
}

bool is_noop(const Editor& editor, const Node& node, const Reduce& op) {
  const bool keeps_single = op.kind == ReduceKind::sum || op.kind == ReduceKind::mean || op.kind == ReduceKind::max ||
                            op.kind == ReduceKind::min || op.kind == ReduceKind::prod;
  if (!keeps_single) return false;
  const auto axes = reduce_axes(editor, node);
  return axes && (axes->empty() || (op.keepdims && keeps_all(editor, node)));
}

bool is_noop(const Editor&, const Node& node, const Concat&) { return node.inputs.size() == 1; }
bool is_noop(const Editor&, const Node& node, const Split&) { return node.outputs.size() == 1; }
bool is_noop(const Editor& editor, const Node& node, const Reshape&) { return keeps_all(editor, node); }
bool is_noop(const Editor& editor, const Node& node, const Flatten&) { return keeps_all(editor, node); }
bool is_noop(const Editor& editor, const Node& node, const Squeeze&) { return keeps_all(editor, node); }
bool is_noop(const Editor& editor, const Node& node, const Unsqueeze&) { return keeps_all(editor, node); }
bool is_noop(const Editor& editor, const Node& node, const Expand&) { return keeps_all(editor, node); }

/// The scalar is the operation's neutral right operand: x + 0, x - 0, x * 1, x / 1, x ^ 1.
bool is_noop(const Editor& editor, const Node& node, const Binary& op) {
  const bool additive = op.kind == BinaryKind::add || op.kind == BinaryKind::sub;
  const bool scaling = op.kind == BinaryKind::mul || op.kind == BinaryKind::div || op.kind == BinaryKind::pow;
  if (!additive && !scaling) return false;
  const auto scalar = scalar_of(editor, node.inputs[1]);
  return scalar && *scalar == (additive ? 0.0 : 1.0) && same_type(editor, node.inputs[0], node.outputs[0]);
}

template <class Op>
bool is_noop(const Editor&, const Node&, const Op&) {
  return false;
}

bool drop_noop(Editor& editor, int index) {
  const Node& node = editor.node(index);
  if (node.inputs.empty() || node.inputs[0] == kAbsent || node.outputs[0] == kAbsent) return false;
  if (!std::visit([&](const auto& op) { return is_noop(editor, node, op); }, node.op)) return false;
  const auto* unary = std::get_if<Unary>(&node.op);
  if (unary != nullptr && editor.needs_identity(node.outputs[0], node.inputs[0])) return false;
  editor.replace(node.outputs[0], node.inputs[0]);
  return true;
}

/// A condition that is the same everywhere takes one operand as it is.
bool take_chosen(Editor& editor, int index) {
  const Node& node = editor.node(index);
  if (!editor.is_one_of<Select>(index) || !editor.is_constant(node.inputs[0])) return false;
  const Constant& condition = *editor.value(node.inputs[0]).constant;
  if (!condition.is_kept() || condition.size() == 0) return false;
  const std::shared_ptr<const Tensor> tensor = condition.tensor();
  const std::span<const bool> flags = tensor->values<bool>();
  if (!std::ranges::all_of(flags, [&](bool flag) { return flag == flags[0]; })) return false;
  const ValueId chosen = node.inputs[flags[0] ? 1 : 2], output = node.outputs[0];
  if (!same_type(editor, chosen, output) || editor.needs_identity(output, chosen)) return false;
  editor.replace(output, chosen);
  return true;
}

/// A Transpose without permutation reverses the axes: as many as there turn out to be.
bool name_permutation(Editor& editor, int index) {
  const Node& node = editor.node(index);
  const auto* op = std::get_if<Transpose>(&node.op);
  if (op == nullptr || !op->perm.empty() || !has_rank(editor, node.inputs[0])) return false;
  const std::size_t rank = rank_of(editor, node.inputs[0]);
  if (rank == 0) return false;
  editor.set_op(index, Transpose{perm_of(*op, rank)});
  return true;
}

bool split_to_slices(Editor& editor, int index) {
  if (!editor.is_one_of<Split>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<Split>(&node.op);
  if (!has_rank(editor, node.inputs[0])) return false;
  const auto rank = static_cast<std::int64_t>(rank_of(editor, node.inputs[0]));
  const std::int64_t axis = normalize_axis(op->axis, rank, node);
  Ints bounds{0};
  for (const ValueType& type : infer_types(editor.graph(), node)) {
    const std::int64_t size = type.shape ? (*type.shape)[static_cast<std::size_t>(axis)] : -1;
    if (size < 0) return false;
    bounds.push_back(bounds.back() + size);
  }
  if (bounds.size() != node.outputs.size() + 1) return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kAbsent) continue;
    const ValueId start = editor.add_ints(node.name + "_start", {bounds[i]});
    const ValueId end = editor.add_ints(node.name + "_end", {bounds[i + 1]});
    const ValueId axes = editor.add_ints(node.name + "_axis", {axis});
    editor.replace(node.outputs[i], editor.add(Slice{}, {node.inputs[0], start, end, axes}, node));
  }
  return true;
}

/// Gather of one element along an axis is a Slice and a Reshape that drops the axis.
bool gather_to_slice(Editor& editor, int index) {
  if (!editor.is_one_of<Gather>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<Gather>(&node.op);
  const ValueId output = node.outputs[0];
  if (!has_rank(editor, node.inputs[0]) || !editor.is_constant(node.inputs[1])) return false;
  if (!has_rank(editor, output) || !reshape_target(*editor.value(output).type.shape)) return false;
  const auto position = constant_ints(editor.graph(), node, 1);
  const auto rank = static_cast<std::int64_t>(rank_of(editor, node.inputs[0]));
  if (rank < 2 || !position || position->size() != 1) return false;
  const std::int64_t axis = normalize_axis(op->axis, rank, node);
  const std::int64_t size = (*editor.value(node.inputs[0]).type.shape)[static_cast<std::size_t>(axis)];
  const std::int64_t first = position->front() < 0 ? position->front() + size : position->front();
  if (size < 0 || first < 0 || first >= size) return false;
  const ValueId start = editor.add_ints(node.name + "_start", {first});
  const ValueId end = editor.add_ints(node.name + "_end", {first + 1});
  const ValueId axes = editor.add_ints(node.name + "_axis", {axis});
  const Shape shape = *editor.value(output).type.shape;
  const ValueId slice = editor.add(Slice{}, {node.inputs[0], start, end, axes}, node);
  editor.replace(output, *add_reshape(editor, slice, shape, node));
  return true;
}

/// The least and the most of a tensor are the same in every order and shape, and of what repeats it.
bool scale_of_source(Editor& editor, int index) {
  if (!editor.is_one_of<ByteScale>(index)) return false;
  const ValueId x = editor.node(index).inputs[0];
  const int source = editor.producer(x);
  if (source < 0) return false;
  const ValueType& type = editor.value(x).type;
  const bool repeats = editor.is_one_of<Tile, Expand>(source) && type.is_static() && element_count(*type.shape) > 0;
  if (!repeats && !editor.is_one_of<Transpose, Reshape, Flatten, Squeeze, Unsqueeze>(source)) return false;
  editor.set_inputs(index, {editor.node(source).inputs[0]});
  return true;
}

constexpr bool (*kStaticForms[])(Editor&, int) = {
    drop_noop,       take_chosen,  name_permutation, merge_transposes, transpose_to_reshape, transpose_into_matmul,
    to_reshape,      sink_reshape, split_to_slices,  gather_to_slice,  vectors_to_matrices,  computed_bias_to_add,
    scale_of_source,
};

}  // namespace

bool static_forms(Graph& graph) {
  Editor editor(graph);
  for (int index = 0; index < editor.node_count(); ++index) {
    for (const auto rule : kStaticForms) {
      if (!editor.alive(index) || rule(editor, index)) break;
    }
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
