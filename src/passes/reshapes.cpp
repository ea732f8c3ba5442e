// SPDX-License-Identifier: Apache-2.0
#include "passes/reshapes.hpp"

#include <algorithm>

#include "passes/match.hpp"
#include "passes/orient.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

bool is_reshape_like(const Operator& op) {
  return std::holds_alternative<Reshape>(op) || std::holds_alternative<Flatten>(op) ||
         std::holds_alternative<Squeeze>(op) || std::holds_alternative<Unsqueeze>(op);
}

/// What a Reshape made the value of, if it is no choice of `orient`; else kAbsent.
ValueId reshaped_from(const Editor& editor, ValueId id) {
  if (editor.produced_by<Reshape>(id) == nullptr || !has_rank(editor, id)) return kAbsent;
  const ValueId source = editor.node(editor.producer(id)).inputs[0];
  if (!has_rank(editor, source)) return kAbsent;
  return is_stood(*editor.value(source).type.shape, *editor.value(id).type.shape) ? kAbsent : source;
}

std::int64_t product_after(const Shape& shape, std::size_t axis) {
  std::int64_t product = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) product *= shape[i];
  return product;
}

/// The shape under which a constant that varies along one axis of `from` broadcasts alike against `to`, a reshaped
/// `from`.
std::optional<Shape> moved_constant_shape(const Shape& constant, const Shape& from, const Shape& to) {
  if (constant.size() > from.size()) return std::nullopt;
  if (std::count_if(constant.begin(), constant.end(), [](std::int64_t size) { return size != 1; }) != 1) {
    return std::nullopt;
  }
  const auto varying = std::find_if(constant.begin(), constant.end(), [](std::int64_t size) { return size != 1; });
  const auto axis = from.size() - constant.size() + static_cast<std::size_t>(varying - constant.begin());
  const std::int64_t inner = product_after(from, axis);
  if (from[axis] != *varying || inner <= 0) return std::nullopt;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] != *varying || product_after(to, i) != inner) continue;
    Shape shape(to.size() - i, 1);
    shape[0] = *varying;
    return shape;
  }
  return std::nullopt;
}

/// The constant operand as it broadcasts against `to` instead of its reshaped form `from`.
std::optional<ValueId> moved_constant(Editor& editor, ValueId id, const Shape& from, const Shape& to) {
  const auto constant = editor.value(id).constant;
  if (constant->size() == 1) return constant->shape().size() <= to.size() ? std::optional(id) : std::nullopt;
  const auto shape = moved_constant_shape(constant->shape(), from, to);
  if (!shape) return std::nullopt;
  if (*shape == constant->shape()) return id;
  return editor.add_constant(std::string(editor.value(id).name), reshaped(constant, *shape));
}

/// Operands of the Binary as they are before their Reshapes; nothing when they do not match.
std::optional<Operands> unreshaped_operands(Editor& editor, const Node& node) {
  const Shape out = *editor.value(node.outputs[0]).type.shape;
  const ValueId a = reshaped_from(editor, node.inputs[0]), b = reshaped_from(editor, node.inputs[1]);
  const auto whole = [&](std::size_t i) { return *editor.value(node.inputs[i]).type.shape == out; };
  if (a != kAbsent && b != kAbsent && whole(0) && whole(1)) {
    const bool same = *editor.value(a).type.shape == *editor.value(b).type.shape;
    return same && editor.value(a).type.is_static() ? std::optional(Operands{a, b}) : std::nullopt;
  }
  if (a != kAbsent && whole(0) && editor.is_constant(node.inputs[1])) {
    const auto constant = moved_constant(editor, node.inputs[1], out, *editor.value(a).type.shape);
    return constant ? std::optional(Operands{a, *constant}) : std::nullopt;
  }
  if (b != kAbsent && whole(1) && editor.is_constant(node.inputs[0])) {
    const auto constant = moved_constant(editor, node.inputs[0], out, *editor.value(b).type.shape);
    return constant ? std::optional(Operands{*constant, b}) : std::nullopt;
  }
  return std::nullopt;
}

/// Whether the caller says at run time how: it may ask for something wrong, which nobody would see otherwise.
bool is_told_how(const Editor& editor, const Node& node) {
  const auto& inputs = editor.graph().inputs;
  return std::find(inputs.begin(), inputs.end(), node.input(1)) != inputs.end();
}

}  // namespace

bool to_reshape(Editor& editor, int index) {
  if (!is_reshape_like(editor.node(index).op)) return false;
  const Node node = editor.node(index);
  const ValueId output = node.outputs[0];
  if (!has_rank(editor, output) || is_told_how(editor, node)) return false;
  const auto target = reshape_target(*editor.value(output).type.shape);
  if (!target) return false;
  ValueId source = node.inputs[0];
  while (editor.produced_by<Reshape>(source) != nullptr) source = editor.node(editor.producer(source)).inputs[0];
  const bool is_reshape = std::holds_alternative<Reshape>(node.op);
  if (is_reshape && source == node.inputs[0] && constant_ints(editor.graph(), node, 1) == *target) return false;
  const auto result = add_reshape(editor, source, *target, node);
  editor.replace(output, *result);
  return true;
}

bool sink_reshape(Editor& editor, int index) {
  if (!editor.is_one_of<Binary, Unary, Cast>(index)) return false;
  const Node node = editor.node(index);
  if (!has_rank(editor, node.outputs[0]) || is_width_cast(editor, node)) return false;
  const Shape shape = *editor.value(node.outputs[0]).type.shape;
  if (!reshape_target(shape)) return false;
  std::vector<ValueId> inputs;
  if (!std::holds_alternative<Binary>(node.op)) {
    inputs = {reshaped_from(editor, node.inputs[0])};
    if (inputs[0] == kAbsent) return false;
  } else {
    const auto operands = unreshaped_operands(editor, node);
    if (!operands) return false;
    inputs = {operands->a, operands->b};
  }
  const ValueId result = editor.add(node.op, std::move(inputs), node);
  editor.replace(node.outputs[0], *add_reshape(editor, result, shape, node));
  return true;
}

bool computed_bias_to_add(Editor& editor, int index) {
  if (!editor.is_one_of<MatMul>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<MatMul>(&node.op);
  if (node.input(2) == kAbsent || editor.is_constant(node.inputs[2])) return false;
  if (!(op->epilogue == FusedEpilogue{})) return false;
  const ValueId product = editor.add(*op, {node.inputs[0], node.inputs[1]}, node);
  editor.replace(node.outputs[0], editor.add(Binary{BinaryKind::add}, {product, node.inputs[2]}, node));
  return true;
}

bool vectors_to_matrices(Editor& editor, int index) {
  if (!editor.is_one_of<MatMul>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<MatMul>(&node.op);
  if (node.inputs.size() > 2 || op->heads_inside_out) return false;
  if (!has_rank(editor, node.inputs[0]) || !has_rank(editor, node.inputs[1])) return false;
  const bool is_row = rank_of(editor, node.inputs[0]) == 1, is_column = rank_of(editor, node.inputs[1]) == 1;
  if (!is_row && !is_column) return false;
  const auto with_axis = [&](ValueId vector, std::int64_t axis) {
    return editor.add(Unsqueeze{}, {vector, editor.add_ints(node.name + "_axes", {axis})}, node);
  };
  MatMul product = *op;
  std::vector<ValueId> inputs = node.inputs;
  Ints axes;
  if (is_row) {
    inputs[0] = with_axis(inputs[0], 0);
    product.transpose_a = false;
    axes.push_back(-2);
  }
  if (is_column) {
    inputs[1] = with_axis(inputs[1], 1);
    product.transpose_b = false;
    axes.push_back(-1);
  }
  const ValueId result = editor.add(product, inputs, node);
  editor.replace(node.outputs[0], editor.add(Squeeze{}, {result, editor.add_ints(node.name + "_axes", axes)}, node));
  return true;
}

}  // namespace colonnade::rewrite
