// SPDX-License-Identifier: Apache-2.0
#include "passes/match.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

/// A LayerNorm of floats whose shape is known, and the first axis that it normalises.
struct LayerNormNode {
  LayerNorm op;
  Shape shape;
  std::int64_t axis = 0;
};

std::optional<LayerNormNode> layer_norm_at(const Editor& editor, const Node& node) {
  const auto* op = std::get_if<LayerNorm>(&node.op);
  if (op == nullptr || node.outputs.size() != 1) return std::nullopt;
  const ValueType& type = editor.value(node.inputs[0]).type;
  if (!type.is_static() || type.dtype != DType::f32 || type.shape->empty()) return std::nullopt;
  return LayerNormNode{*op, *type.shape, normalize_axis(op->axis, static_cast<std::int64_t>(type.shape->size()), node)};
}

/// Scale and shift that are computed, or that vary along other axes too, are applied to what is normalised without.
bool scale_afterwards(Editor& editor, int index) {
  const auto norm = layer_norm_at(editor, editor.node(index));
  if (!norm) return false;
  const Node node = editor.node(index);
  const Shape lines(norm->shape.begin() + norm->axis, norm->shape.end());
  const auto fits = [&](std::size_t input) {
    const ValueId id = node.input(input);
    return id == kAbsent || (editor.is_constant(id) && editor.value(id).type.shape == lines);
  };
  if (fits(1) && fits(2)) return false;
  Tensor ones(DType::f32, lines);
  std::fill(ones.values<float>().begin(), ones.values<float>().end(), 1.0f);
  const ValueId scale = editor.add_constant(node.name + "_ones", std::move(ones));
  ValueId result = editor.add(norm->op, {node.inputs[0], scale}, node);
  result = editor.add(Binary{BinaryKind::mul}, {result, node.inputs[1]}, node);
  if (node.input(2) != kAbsent) result = editor.add(Binary{BinaryKind::add}, {result, node.inputs[2]}, node);
  editor.replace(node.outputs[0], result);
  return true;
}

bool flatten(Editor& editor, int index) {
  const auto norm = layer_norm_at(editor, editor.node(index));
  if (!norm || norm->axis + 1 == std::ssize(norm->shape)) return false;
  const Node node = editor.node(index);
  Shape flat(norm->shape.begin(), norm->shape.begin() + norm->axis);
  const std::int64_t line = element_count(std::span<const std::int64_t>(norm->shape).subspan(at(norm->axis)));
  flat.push_back(line);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = *add_reshape(editor, inputs[0], flat, node);
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i] != kAbsent) inputs[i] = *add_reshape(editor, inputs[i], {line}, node);
  LayerNorm op = norm->op;
  op.axis = -1;
  editor.replace(node.outputs[0], *add_reshape(editor, editor.add(op, inputs, node), norm->shape, node));
  return true;
}

/// Doubles have kernels for each step of a norm.
bool by_steps_of_doubles(Editor& editor, int index) {
  if (!editor.is_one_of<LayerNorm>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<LayerNorm>(&node.op);
  const ValueType type = editor.value(node.inputs[0]).type;
  if (node.outputs.size() != 1 || type.dtype != DType::f64 || !type.is_static()) return false;
  const auto rank = static_cast<std::int64_t>(type.shape->size());
  const auto differs = [&](std::size_t input) {
    return node.input(input) != kAbsent && editor.value(node.input(input)).type.dtype != DType::f64;
  };
  if (rank == 0 || element_count(*type.shape) == 0 || differs(1) || differs(2)) return false;
  Ints lines;
  for (std::int64_t axis = normalize_axis(op->axis, rank, node); axis < rank; ++axis) lines.push_back(axis);
  const ValueId axes = editor.add_ints(node.name + "_axes", lines);
  const auto mean_of = [&](ValueId x) { return editor.add(Reduce{ReduceKind::mean, true}, {x, axes}, node); };
  const auto binary = [&](BinaryKind kind, ValueId a, ValueId b) { return editor.add(Binary{kind}, {a, b}, node); };
  const auto unary = [&](UnaryKind kind, ValueId a) { return editor.add(Unary{kind}, {a}, node); };
  Tensor epsilon(DType::f64, {});
  epsilon.values<double>()[0] = static_cast<double>(op->epsilon);
  const ValueId x = node.inputs[0], centred = op->rms ? x : binary(BinaryKind::sub, x, mean_of(x));
  const ValueId variance = mean_of(binary(BinaryKind::mul, centred, centred));
  const ValueId raised =
      binary(BinaryKind::add, variance, editor.add_constant(node.name + "_epsilon", std::move(epsilon)));
  ValueId y = binary(BinaryKind::div, centred, unary(UnaryKind::sqrt, raised));
  y = binary(BinaryKind::mul, y, node.inputs[1]);
  if (node.input(2) != kAbsent) y = binary(BinaryKind::add, y, node.inputs[2]);
  editor.replace(node.outputs[0], y);
  return true;
}

}  // namespace

bool flatten_norms(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index)
    if (editor.alive(index))
      scale_afterwards(editor, index) || flatten(editor, index) || by_steps_of_doubles(editor, index);
  return editor.finish();
}

}  // namespace colonnade::rewrite
