// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "passes/match.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

/// A reduction of parts, and the one of its results that is the reduction of all.
struct Halves {
  ReduceKind parts, whole;
};
Halves halves_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::l1: return {kind, ReduceKind::sum};
    case ReduceKind::sum_square: return {kind, ReduceKind::sum};
    case ReduceKind::log_sum: return {ReduceKind::sum, kind};
    case ReduceKind::sum:
    case ReduceKind::mean:
    case ReduceKind::max:
    case ReduceKind::min:
    case ReduceKind::prod:
    case ReduceKind::l2:
    case ReduceKind::log_sum_exp: break;
  }
  return {kind, kind};
}

ValueId reduce(Editor& editor, ReduceKind kind, bool keepdims, ValueId x, const Ints& axes, const Node& like) {
  return editor.add(Reduce{kind, keepdims}, {x, editor.add_ints(like.name + "_axes", axes)}, like);
}

bool split_image(Editor& editor, int index) {
  if (!editor.is_one_of<Reduce>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<Reduce>(&node.op);
  if (!op->keepdims) return false;
  if (!has_rank(editor, node.inputs[0]) || rank_of(editor, node.inputs[0]) != 4) return false;
  if (editor.value(node.inputs[0]).type.dtype != DType::f32 || reduce_axes(editor, node) != Ints{1, 2}) return false;
  const Halves halves = halves_of(op->kind);
  const ValueId by_row = reduce(editor, halves.parts, true, node.inputs[0], {2}, node);
  editor.replace(node.outputs[0], reduce(editor, halves.whole, true, by_row, {1}, node));
  return true;
}

/// The last axes among those given that lie side by side, where those of one element do not count.
Ints last_run(const Shape& shape, const Ints& axes) {
  Ints run;
  for (std::size_t i = axes.size(); i-- > 0;) {
    bool apart = false;
    if (!run.empty())
      for (std::int64_t axis = axes[i] + 1; axis < run.front(); ++axis) apart |= shape[at(axis)] != 1;
    if (apart) break;
    if (shape[at(axes[i])] != 1) run.insert(run.begin(), axes[i]);
  }
  return run;
}

/// What can be reduced in turn: floats of a known shape.
std::optional<Ints> known_reduction(const Editor& editor, const Node& node) {
  if (!std::holds_alternative<Reduce>(node.op)) return std::nullopt;
  const ValueType& type = editor.value(node.inputs[0]).type;
  if (!type.is_static() || type.dtype != DType::f32 || element_count(*type.shape) == 0) return std::nullopt;
  return reduce_axes(editor, node);
}

/// Axes that do not lie side by side are reduced in turn, the last ones first.
bool split_apart(Editor& editor, int index) {
  const auto axes = known_reduction(editor, editor.node(index));
  if (!axes) return false;
  const Node node = editor.node(index);
  const Reduce op = std::get<Reduce>(node.op);
  const Shape shape = *editor.value(node.inputs[0]).type.shape;
  const Ints last = last_run(shape, *axes);
  const auto counts = [&](std::int64_t axis) { return shape[at(axis)] != 1; };
  if (std::ssize(last) == std::ranges::count_if(*axes, counts)) return false;
  const Halves halves = halves_of(op.kind);
  const ValueId parts = reduce(editor, halves.parts, true, node.inputs[0], last, node);
  editor.replace(node.outputs[0], reduce(editor, halves.whole, op.keepdims, parts, *axes, node));
  return true;
}

/// Few long sequences a sample are cut into parts, which threads share.
bool split_long(Editor& editor, int index) {
  constexpr std::int64_t kFew = 8, kLong = 1 << 15, kMostParts = 64;
  const auto axes = known_reduction(editor, editor.node(index));
  if (!axes) return false;
  const Node node = editor.node(index);
  const Shape shape = *editor.value(node.inputs[0]).type.shape;
  const Ints run = last_run(shape, *axes);
  if (run.empty() || std::any_of(shape.begin() + run.back() + 1, shape.end(), [](auto size) { return size != 1; }))
    return false;
  std::int64_t length = 1;
  for (const std::int64_t axis : run) length *= shape[at(axis)];
  const std::int64_t outer = element_count(shape) / length;
  if (of_sample(editor.graph(), outer) >= kFew || length < kLong ||
      std::ssize(run) < std::ranges::count_if(*axes, [&](std::int64_t axis) { return shape[at(axis)] != 1; }))
    return false;
  std::int64_t parts = kMostParts;
  while (parts > 1 && length % parts != 0) --parts;
  if (parts == 1) return false;
  const Halves halves = halves_of(std::get<Reduce>(node.op).kind);
  const ValueId cut = *add_reshape(editor, node.inputs[0], {outer * parts, length / parts}, node);
  const ValueId reduced = reduce(editor, halves.parts, false, cut, {1}, node);
  const ValueId rows = *add_reshape(editor, reduced, {outer, parts}, node);
  const ValueId result = reduce(editor, halves.whole, false, rows, {1}, node);
  editor.replace(node.outputs[0], *add_reshape(editor, result, *editor.value(node.outputs[0]).type.shape, node));
  return true;
}

/// The logarithm of a sum of exponentials of doubles, the largest taken out unless it is infinite: doubles have kernels
/// for each step.
bool split_log_sum_exp(Editor& editor, int index) {
  if (!editor.is_one_of<Reduce>(index)) return false;
  const Node node = editor.node(index);
  const ValueType& type = editor.value(node.inputs[0]).type;
  if (std::get<Reduce>(node.op).kind != ReduceKind::log_sum_exp || type.dtype != DType::f64 || !type.is_static())
    return false;
  const auto axes = reduce_axes(editor, node);
  if (!axes || axes->empty() || element_count(*type.shape) == 0) return false;
  const auto number = [&](const char* what, double value) {
    Tensor tensor(DType::f64, {});
    tensor.values<double>()[0] = value;
    return editor.add_constant(node.name + what, std::move(tensor));
  };
  const auto binary = [&](BinaryKind kind, ValueId a, ValueId b) { return editor.add(Binary{kind}, {a, b}, node); };
  const auto unary = [&](UnaryKind kind, ValueId a) { return editor.add(Unary{kind}, {a}, node); };
  const ValueId x = node.inputs[0], largest = reduce(editor, ReduceKind::max, true, x, *axes, node);
  const ValueId is_infinite = binary(BinaryKind::equal, unary(UnaryKind::abs, largest),
                                     number("_infinity", std::numeric_limits<double>::infinity()));
  const ValueId peak = editor.add(Select{}, {is_infinite, number("_zero", 0), largest}, node);
  const ValueId powers = unary(UnaryKind::exp, binary(BinaryKind::sub, x, peak));
  const ValueId sums = reduce(editor, ReduceKind::sum, true, powers, *axes, node);
  const ValueId result = binary(BinaryKind::add, unary(UnaryKind::log, sums), peak);
  editor.replace(node.outputs[0], *add_reshape(editor, result, *editor.value(node.outputs[0]).type.shape, node));
  return true;
}

/// Image `image` of a value that has one for each sample.
ValueId image_of(Editor& editor, ValueId value, std::int64_t image, const Node& like) {
  const auto ints = [&](const char* what, std::int64_t number) { return editor.add_ints(like.name + what, {number}); };
  return editor.add(Slice{}, {value, ints("_image", image), ints("_next", image + 1), ints("_axis", 0)}, like);
}

/// An image times a scale plus a shift a channel, as a depthwise 1x1 convolution with computed weights.
ValueId scaled_image(Editor& editor, ValueId x, ValueId scale, ValueId shift, std::int64_t channels, const Node& like) {
  Conv apply;
  apply.kernel = apply.strides = apply.dilations = {1, 1};
  apply.pads = {0, 0, 0, 0};
  apply.groups = channels;
  const ValueId weights = *add_reshape(editor, scale, {channels, 1, 1, 1}, like);
  const ValueId bias = *add_reshape(editor, shift, {channels}, like);
  return editor.add(apply, {x, weights, bias}, like);
}

/// Each sample's image by itself.
ValueId scaled_images(Editor& editor, ValueId x, ValueId scale, ValueId shift, const Shape& shape, const Node& like) {
  if (shape[0] == 1) return scaled_image(editor, x, scale, shift, shape[3], like);
  std::vector<ValueId> images;
  for (std::int64_t i = 0; i < shape[0]; ++i)
    images.push_back(scaled_image(editor, image_of(editor, x, i, like), image_of(editor, scale, i, like),
                                  image_of(editor, shift, i, like), shape[3], like));
  return editor.add(Concat{0}, images, like);
}

/// Statistics of each row while it is at hand, then of all rows; what remains is a scale and a shift a channel, where a
/// sample is one image.
bool split_instance_norm(Editor& editor, int index) {
  if (!editor.is_one_of<InstanceNorm>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<InstanceNorm>(&node.op);
  if (!editor.value(node.inputs[0]).type.is_static()) return false;
  const Shape shape = *editor.value(node.inputs[0]).type.shape;
  if (shape.size() != 4 || normalize_axis(op->axis, 4, node) != 3) return false;
  if (of_sample(editor.graph(), shape[0]) != 1) return false;
  if (editor.value(node.inputs[0]).type.dtype != DType::f32) return false;
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
  editor.replace(node.outputs[0], scaled_images(editor, x, scale, shift, shape, node));
  return true;
}

}  // namespace

bool split_reductions(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    if (editor.alive(index))
      split_image(editor, index) || split_apart(editor, index) || split_long(editor, index) ||
          split_instance_norm(editor, index) || split_log_sum_exp(editor, index);
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
