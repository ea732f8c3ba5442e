// SPDX-License-Identifier: Apache-2.0
#include "passes/match.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

bool splits(ReduceKind kind) {
  return kind == ReduceKind::sum || kind == ReduceKind::mean || kind == ReduceKind::max || kind == ReduceKind::min;
}

/// Norms, sums of squares and logarithms of sums are sums, which have kernels, and a little before or after.
bool reduce_by_sum(Editor& editor, int index) {
  const Node node = editor.node(index);
  const auto* op = std::get_if<Reduce>(&node.op);
  if (op == nullptr || editor.value(node.inputs[0]).type.dtype != DType::f32) return false;
  UnaryKind before = UnaryKind::identity, after = UnaryKind::identity;
  switch (op->kind) {
    case ReduceKind::l1: before = UnaryKind::abs; break;
    case ReduceKind::l2: before = UnaryKind::square, after = UnaryKind::sqrt; break;
    case ReduceKind::sum_square: before = UnaryKind::square; break;
    case ReduceKind::log_sum: after = UnaryKind::log; break;
    case ReduceKind::sum:
    case ReduceKind::mean:
    case ReduceKind::max:
    case ReduceKind::min:
    case ReduceKind::prod:
    case ReduceKind::log_sum_exp: return false;
  }
  const auto unary = [&](UnaryKind kind, ValueId x) {
    return kind == UnaryKind::identity ? x : editor.add(Unary{kind}, {x}, node);
  };
  Reduce sum = *op;
  sum.kind = ReduceKind::sum;
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = unary(before, inputs[0]);
  editor.replace(node.outputs[0], unary(after, editor.add(sum, inputs, node)));
  return true;
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

/// Statistics of each row while it is at hand, then of all rows; what remains is a scale and a shift a channel, which
/// one image takes as a depthwise 1x1 convolution with computed weights.
bool split_instance_norm(Editor& editor, int index) {
  const Node node = editor.node(index);
  const auto* op = std::get_if<InstanceNorm>(&node.op);
  if (op == nullptr || !editor.value(node.inputs[0]).type.is_static()) return false;
  const Shape shape = *editor.value(node.inputs[0]).type.shape;
  if (shape.size() != 4 || normalize_axis(op->axis, 4, node) != 3 || shape[0] != 1) return false;
  if (editor.value(node.inputs[0]).type.dtype != DType::f32) return false;
  const std::int64_t channels = shape[3];
  const auto named = [&](const char* what) { return node.name + what; };
  const ValueId x = node.inputs[0], width = editor.add_ints(named("_width"), {2}),
                rows = editor.add_ints(named("_rows"), {1});
  const auto mean_of = [&](ValueId value, ValueId axes) {
    return editor.add(Reduce{ReduceKind::mean}, {value, axes}, node);
  };
  const auto binary = [&](BinaryKind kind, ValueId a, ValueId b) { return editor.add(Binary{kind}, {a, b}, node); };
  const ValueId row_mean = mean_of(x, width);
  const ValueId row_variance = mean_of(binary(BinaryKind::squared_difference, x, row_mean), width);
  const ValueId mean = mean_of(row_mean, rows);
  const ValueId variance = binary(BinaryKind::add, mean_of(row_variance, rows),
                                  mean_of(binary(BinaryKind::squared_difference, row_mean, mean), rows));
  Tensor epsilon(DType::f32, {});
  epsilon.values<float>()[0] = op->epsilon;
  const ValueId raised = binary(BinaryKind::add, variance, editor.add_constant(named("_epsilon"), std::move(epsilon)));
  const ValueId deviation = editor.add(Unary{UnaryKind::sqrt}, {raised}, node);
  const ValueId scale = binary(BinaryKind::div, node.inputs[1], deviation);
  const ValueId shift = binary(BinaryKind::sub, node.inputs[2], binary(BinaryKind::mul, mean, scale));
  Conv apply;
  apply.kernel = apply.strides = apply.dilations = {1, 1};
  apply.pads = {0, 0, 0, 0};
  apply.groups = channels;
  const ValueId weights = *add_reshape(editor, scale, {channels, 1, 1, 1}, node);
  const ValueId bias = *add_reshape(editor, shift, {channels}, node);
  editor.replace(node.outputs[0], editor.add(apply, {x, weights, bias}, node));
  return true;
}

}  // namespace

bool split_reductions(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    if (editor.alive(index))
      reduce_by_sum(editor, index) || split_reduction(editor, index) || split_instance_norm(editor, index);
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
