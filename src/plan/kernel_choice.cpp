// SPDX-License-Identifier: Apache-2.0
#include "plan/kernel_choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/checked.hpp"
#include "graph/contraction.hpp"
#include "plan/conv_choice.hpp"
#include "plan/typed_choice.hpp"

namespace colonnade {
namespace {

KernelChoice island(std::string reason) { return {Family::island, std::move(reason)}; }
KernelChoice rows(Family family, std::int64_t granularity = 1) { return {family, {}, granularity}; }

struct Context {
  const Graph& graph;
  const Node& node;
  Math math;
  kernels::Isa isa;

  const Value* input(std::size_t index) const {
    const ValueId id = node.input(index);
    return id == kAbsent ? nullptr : &graph.value(id);
  }
  const Shape& shape(std::size_t index) const { return input(index)->type.static_shape(); }
  const Shape& output_shape() const { return graph.value(node.outputs[0]).type.static_shape(); }
  bool constant_or_absent(std::size_t index) const { return !input(index) || input(index)->constant; }
  bool constant(std::size_t index) const { return input(index) && input(index)->constant; }
};

bool binary_has_kernel(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::add:
    case BinaryKind::sub:
    case BinaryKind::mul:
    case BinaryKind::div:
    case BinaryKind::min:
    case BinaryKind::max:
    case BinaryKind::pow:
    case BinaryKind::prelu:
    case BinaryKind::squared_difference: return true;
    default: return false;
  }
}

bool is_last(std::int64_t axis, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  return rank > 0 && (axis == -1 || axis == rank - 1);
}

KernelChoice choose(const Unary& op, const Context&) {
  return has_kernel(op.kind) ? rows(Family::unary) : island("no kernel for this function");
}

KernelChoice choose(const Binary& op, const Context& context) {
  if (!binary_has_kernel(op.kind)) return island("no kernel for this function");
  for (std::size_t i = 0; i < 2; ++i)
    if (!operand_of(context.shape(i), context.output_shape())) return island("operand broadcasts over folded axes");
  return rows(Family::binary);
}

KernelChoice choose(const Conv& conv, const Context& context) {
  if (context.shape(0).size() != 4) return island("only two spatial axes have a kernel");
  const std::int64_t channels_in = context.shape(0)[3], channels_out = context.output_shape()[3];
  const bool depthwise = conv.groups == channels_in && channels_out == channels_in;
  const bool scales = depthwise && conv.kernel == Ints{1, 1};  // its weights need no packing
  if (!scales && (!context.constant(1) || !context.constant_or_absent(2))) return island("weights are not constant");
  if (depthwise && (conv.groups > 1 || scales)) return rows(Family::depthwise);
  const Shape &in = context.shape(0), &out = context.output_shape();
  const bool fast = context.math != Math::exact && !conv.exact;
  const bool matrix_units = fast && context.isa >= kernels::Isa::amx;
  const WinogradChoice winograd = fast ? choose_winograd(conv, in, out, matrix_units) : WinogradChoice{};
  if (takes_planes(conv, out, winograd.tile > 0)) return rows(Family::planes, kPlaneRows);
  KernelChoice choice = winograd.tile > 0 ? rows(Family::winograd, winograd.tile) : rows(Family::conv);
  const LongSums sums{out[1] * out[2], conv.kernel[0] * conv.kernel[1], channels_in / conv.groups,
                      channels_out / conv.groups, matrix_units ? taps_inside(conv, in, out) : 1};
  choice.encoding = winograd.tile > 0                    ? winograd.encoding
                    : matrix_units && takes_pieces(sums) ? kernels::Encoding::bf16x3
                                                         : kernels::Encoding::f32;
  return choice;
}

KernelChoice choose(const ConvTranspose& conv, const Context& context) {
  if (context.shape(0).size() != 4) return island("only two spatial axes have a kernel");
  if (!context.constant(1) || !context.constant_or_absent(2)) return island("weights are not constant");
  if (conv.dilations[0] != 1 || conv.dilations[1] != 1) return island("dilated transposed convolution");
  return rows(Family::conv_transpose);
}

KernelChoice choose_product(const Context& context) {
  const std::string_view reason = no_product_reason(context.graph, context.node);
  return reason.empty() ? rows(Family::product) : island(std::string(reason));
}

KernelChoice choose(const MatMul& op, const Context& context) {
  if (!context.constant_or_absent(2)) return island("bias is not constant");
  if (!context.constant(1) || context.shape(1).size() != 2) return choose_product(context);
  if (op.transpose_a || context.shape(0).size() < 2) return island("transposed or one-dimensional left operand");
  KernelChoice choice = rows(Family::matmul);
  const RowShape out = row_shape(context.output_shape());
  if (context.math != Math::exact && context.isa >= kernels::Isa::amx &&
      takes_pieces({out.rows * out.width, 1, context.shape(0).back(), out.channels}))
    choice.encoding = kernels::Encoding::bf16x3;
  return choice;
}

KernelChoice choose(const Pool& op, const Context& context) {
  if (op.kind == PoolKind::lp) return island("no kernel for this pooling");
  if (context.shape(0).size() != 4) return island("only two spatial axes have a kernel");
  if (context.node.outputs.size() > 1 && context.node.outputs[1] != kAbsent) return island("indices are asked for");
  return rows(Family::pool);
}

KernelChoice choose(const Reduce& op, const Context& context) {
  if (op.kind != ReduceKind::sum && op.kind != ReduceKind::mean && op.kind != ReduceKind::max &&
      op.kind != ReduceKind::min)
    return island("no kernel for this reduction");
  const auto axes = constant_ints(context.graph, context.node, 1);
  if (!axes || axes->empty()) return island("axes are not given as a constant");
  const Shape& in = context.shape(0);
  if (in.size() == 4 && op.keepdims && axes->size() == 1 && normalize_axis((*axes)[0], 4, context.node) == 2)
    return rows(Family::reduce_width);
  return reduced_axes_of(in, *axes, context.node) ? rows(Family::reduce) : island("reduced axes are not adjacent");
}

KernelChoice choose(const Softmax& op, const Context& context) {
  return is_last(op.axis, context.shape(0)) ? rows(Family::softmax) : island("softmax over an outer axis");
}

KernelChoice choose(const InstanceNorm& op, const Context& context) {
  const bool constants = context.constant(1) && context.constant(2);
  return constants && is_last(op.axis, context.shape(0)) ? rows(Family::instance_norm)
                                                         : island("channels are not innermost");
}

KernelChoice choose(const LayerNorm& op, const Context& context) {
  const bool constants = context.constant(1) && context.constant_or_absent(2);
  const bool single = context.node.outputs.size() == 1;
  if (!constants || !single || !is_last(op.axis, context.shape(0))) return island("normalises over several axes");
  for (const std::size_t input : {1, 2}) {
    if (context.input(input) != nullptr && element_count(context.shape(input)) != context.shape(0).back())
      return island("scale or bias are not one a channel");
  }
  return rows(Family::layer_norm);
}

KernelChoice choose(const Lrn& op, const Context& context) {
  return is_last(op.axis, context.shape(0)) ? rows(Family::lrn) : island("channels are not innermost");
}

KernelChoice choose(const Resize& op, const Context& context) {
  const Shape& in = context.shape(0);
  const Shape& out = context.output_shape();
  if (in.size() != 4 || in[0] != out[0] || in[3] != out[3]) return island("resizes other than the two spatial axes");
  if (op.antialias || op.coordinates == CoordinateMode::tf_crop_and_resize)
    return island("antialiased or cropping resize");
  const auto scales = constant_floats(context.graph, context.node, 2);
  const auto sizes = constant_ints(context.graph, context.node, 3);
  return scales || sizes ? rows(Family::resize) : island("scales are not constant");
}

KernelChoice choose(const Reshape&, const Context&) { return rows(Family::view); }
KernelChoice choose(const Flatten&, const Context&) { return rows(Family::view); }
KernelChoice choose(const Squeeze&, const Context&) { return rows(Family::view); }
KernelChoice choose(const Unsqueeze&, const Context&) { return rows(Family::view); }

KernelChoice choose(const Transpose& op, const Context& context) {
  const Shape& in = context.shape(0);
  if (in.size() == 4 && op.perm == Ints{0, 2, 3, 1}) return rows(Family::to_channels_last);
  if (in.size() == 4 && op.perm == Ints{0, 3, 1, 2}) return rows(Family::to_channels_first);
  const auto swap = axis_swap_of(in, op.perm);
  return swap && swap->inner == 1 ? rows(Family::swap_axes) : island("general transposition");
}

KernelChoice choose(const Concat& op, const Context& context) {
  const Shape& out = context.output_shape();
  const auto rank = static_cast<std::int64_t>(out.size());
  const std::int64_t axis = normalize_axis(op.axis, rank, context.node);
  if ((rank == 4 && axis >= 2) || (rank >= 2 && rank < 4 && axis == rank - 1)) return rows(Family::concat);
  return rows(Family::concat_outer);
}

KernelChoice choose(const Slice&, const Context& context) {
  const auto axes = slice_axes_of(context.graph, context.node);
  if (!axes) return island("bounds are not constant");
  if (axes->size() < 2 || axes->size() > 4) return island("slice of a tensor that is not an image");
  for (const SliceRange& axis : *axes)
    if (axis.step < 1) return island("negative step");
  const SliceRange& images = axes->front();
  if (axes->size() > 2 && (images.first != 0 || images.step != 1 || images.count != context.shape(0)[0]))
    return island("slices images");
  return axes->back().step == 1 ? rows(Family::slice) : island("strided channels");
}

KernelChoice choose(const Pad& op, const Context& context) {
  const auto axes = pad_axes_of(context.graph, context.node);
  if (!axes || axes->size() != 4) return island("pads are not constant, or not of an image");
  if (op.mode == PadMode::wrap) return island("no kernel for this padding mode");
  if (context.input(2) && !context.input(2)->constant) return island("value is not constant");
  for (const Interval& pads : *axes)
    if (pads.begin < 0 || pads.end < 0) return island("negative pads");
  if (op.mode != PadMode::constant && (*axes)[3] != Interval{0, 0}) return island("pads channels with channels");
  return (*axes)[0] == Interval{0, 0} ? rows(Family::pad) : island("pads images");
}

KernelChoice choose(const DepthToSpace& op, const Context&) {
  if (op.axis != -1 && op.axis != 3) return island("channels are not innermost");
  return !op.crd ? rows(Family::depth_to_space) : island("column-row-depth order");
}

KernelChoice choose(const SpaceToDepth& op, const Context&) {
  return op.axis == -1 || op.axis == 3 ? rows(Family::space_to_depth) : island("channels are not innermost");
}

KernelChoice choose(const Gather& op, const Context& context) {
  const bool constant = constant_ints(context.graph, context.node, 1).has_value();
  const bool flat = context.shape(1).size() == 1 && context.shape(0).size() > 1;
  return constant && flat && is_last(op.axis, context.shape(0)) ? rows(Family::gather)
                                                                : island("gathers other than constant channels");
}

KernelChoice choose(const Recurrent&, const Context& context) {
  return recurrent_form_of(context.graph, context.node) ? rows(Family::recurrent) : island("no kernel for this cell");
}

KernelChoice choose(const TreeEnsemble& op, const Context& context) {
  const Shape& in = context.shape(0);
  const auto uses = [&](const TreeEnsemble::TreeNode& node) { return node.feature < in.back(); };
  const bool single = context.input(0)->type.dtype == DType::f32 && op.scores == DType::f32;
  const bool fits = single && in.size() == 2 && std::all_of(op.nodes.begin(), op.nodes.end(), uses);
  return fits && tree_depths(op) ? rows(Family::trees) : island("no kernel for these trees");
}

KernelChoice choose(const GridSample&, const Context& context) {
  const bool image =
      context.shape(0).size() == 4 && element_count(context.shape(0)) > 0 && context.input(1)->type.dtype == DType::f32;
  return image ? rows(Family::grid_sample) : island("only two spatial axes have a kernel");
}

template <class Op>
KernelChoice choose(const Op&, const Context&) {
  return island("no kernel for this operator");
}

bool is_float_tensor(const Value& value) { return value.type.dtype == DType::f32; }

}  // namespace

std::string_view name_of(Family family) {
  constexpr std::string_view kNames[] = {"island",
                                         "view",
                                         "conv",
                                         "winograd",
                                         "planes",
                                         "depthwise",
                                         "conv_transpose",
                                         "matmul",
                                         "pool",
                                         "unary",
                                         "binary",
                                         "softmax",
                                         "layer_norm",
                                         "lrn",
                                         "reduce_width",
                                         "resize",
                                         "to_channels_last",
                                         "to_channels_first",
                                         "concat",
                                         "slice",
                                         "gather",
                                         "pad",
                                         "depth_to_space",
                                         "space_to_depth",
                                         "reduce",
                                         "instance_norm",
                                         "swap_axes",
                                         "concat_outer",
                                         "typed",
                                         "product",
                                         "recurrent",
                                         "trees",
                                         "grid_sample"};
  return kNames[static_cast<std::size_t>(family)];
}

std::optional<Operand> operand_of(const Shape& shape, const Shape& output) {
  if (shape == output) return Operand{};
  const auto count = [](const Shape& dims) { return element_count(dims); };
  if (count(shape) == 1) return Operand{true, true, true, true};
  if (output.size() > 4 || shape.size() > output.size()) return std::nullopt;
  Shape padded(output.size() - shape.size(), 1);
  padded.insert(padded.end(), shape.begin(), shape.end());
  const auto broadcast = [&](std::size_t axis) { return padded[axis] == 1 && output[axis] != 1; };
  switch (output.size()) {
    case 1: return Operand{false, false, false, broadcast(0)};
    case 2: return Operand{false, broadcast(0), false, broadcast(1)};
    case 3: return Operand{broadcast(0), broadcast(1), false, broadcast(2)};
    default: return Operand{broadcast(0), broadcast(1), broadcast(2), broadcast(3)};
  }
}

std::optional<AxisSwap> axis_swap_of(const Shape& input, const Ints& permutation) {
  const std::size_t rank = input.size();
  Ints perm = permutation;
  if (perm.empty()) {
    perm.resize(rank);
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  std::size_t begin = 0;
  while (begin < rank && perm[begin] == static_cast<std::int64_t>(begin)) ++begin;
  std::size_t end = rank;
  while (end > begin && perm[end - 1] == static_cast<std::int64_t>(end - 1)) --end;
  if (begin == end) return std::nullopt;
  const auto split = static_cast<std::size_t>(perm[begin]);
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t expected = i - begin < end - split ? split + (i - begin) : begin + (i - begin) - (end - split);
    if (perm[i] != static_cast<std::int64_t>(expected)) return std::nullopt;
  }
  const auto product = [&](std::size_t first, std::size_t last) {
    return std::accumulate(input.begin() + static_cast<std::ptrdiff_t>(first),
                           input.begin() + static_cast<std::ptrdiff_t>(last), std::int64_t{1}, std::multiplies<>());
  };
  return AxisSwap{product(0, begin), product(begin, split), product(split, end), product(end, rank)};
}

std::optional<ReducedAxes> reduced_axes_of(const Shape& input, const Ints& axes, const Node& node) {
  const auto rank = static_cast<std::int64_t>(input.size());
  std::vector<bool> reduced(input.size(), false);
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(normalize_axis(axis, rank, node))] = true;
  ReducedAxes split;
  int phase = 0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (reduced[i] && phase == 2) return std::nullopt;
    if (reduced[i]) phase = 1;
    if (!reduced[i] && phase == 1) phase = 2;
    (phase == 0 ? split.outer : phase == 1 ? split.reduced : split.inner) *= input[i];
  }
  return split;
}

std::optional<std::vector<SliceRange>> slice_axes_of(const Graph& graph, const Node& node) {
  const Shape& shape = graph.value(node.inputs[0]).type.static_shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto starts = constant_ints(graph, node, 1), ends = constant_ints(graph, node, 2);
  if (!starts || !ends) return std::nullopt;
  const auto given = [&](std::size_t index) { return node.input(index) != kAbsent; };
  auto axes = constant_ints(graph, node, 3), steps = constant_ints(graph, node, 4);
  if ((given(3) && !axes) || (given(4) && !steps)) return std::nullopt;
  std::vector<SliceRange> result;
  for (const std::int64_t dim : shape) result.push_back({0, 1, dim});
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis =
        static_cast<std::size_t>(normalize_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), rank, node));
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (step == 0) return std::nullopt;
    result[axis] = slice_range(shape[axis], (*starts)[i], (*ends)[i], step);
  }
  return result;
}

namespace {

/// Sigmoid and Tanh where ONNX puts them when nothing is said.
bool has_default_activations(const Recurrent& op) {
  const std::size_t period = op.kind == RecurrentKind::lstm ? 3 : 2;
  for (std::size_t i = 0; i < op.activations.size(); ++i)
    if (op.activations[i] != (i % period == 0 ? "Sigmoid" : "Tanh")) return false;
  return true;
}

}  // namespace

std::optional<RecurrentForm> recurrent_form_of(const Graph& graph, const Node& node) {
  const auto& op = std::get<Recurrent>(node.op);
  const auto given = [&](std::size_t index) { return node.input(index) != kAbsent; };
  const auto constant = [&](std::size_t index) { return !given(index) || graph.value(node.inputs[index]).constant; };
  if (op.kind == RecurrentKind::rnn || !has_default_activations(op) || op.clip != 0 || op.input_forget)
    return std::nullopt;
  if (!given(1) || !given(2) || !constant(1) || !constant(2) || !constant(3) || given(4) || given(7))
    return std::nullopt;
  const bool gru = op.kind == RecurrentKind::gru;
  if (gru && !op.linear_before_reset && op.hidden_size % 8 != 0)
    return std::nullopt;  // its products end within a panel
  const Shape& x = graph.value(node.inputs[0]).type.static_shape();
  const Shape& w = graph.value(node.inputs[1]).type.static_shape();
  const Shape& r = graph.value(node.inputs[2]).type.static_shape();
  const RecurrentForm form{
      op.direction == Direction::bidirectional ? 2 : 1, gru ? 3 : 4, x[0], x[1], x[2], op.hidden_size};
  const std::int64_t columns = form.gates * form.hidden;
  if (w != Shape{form.directions, columns, form.depth} || r != Shape{form.directions, columns, form.hidden})
    return std::nullopt;
  const auto holds = [&](std::size_t index, std::int64_t count) {
    return !given(index) || element_count(graph.value(node.inputs[index]).type.static_shape()) == count;
  };
  const std::int64_t state = form.directions * form.batch * form.hidden;
  if (form.batch * form.steps * form.depth * form.hidden == 0) return std::nullopt;
  if (!holds(3, form.directions * 2 * columns) || !holds(5, state) || !holds(6, state)) return std::nullopt;
  return form;
}

std::optional<std::vector<std::int32_t>> tree_depths(const TreeEnsemble& trees) {
  using Mode = TreeEnsemble::Mode;
  const auto count = static_cast<std::int32_t>(trees.nodes.size());
  const auto inside = [count](std::int32_t index) { return index >= 0 && index < count; };
  const auto& weights = trees.leaf_weights;
  for (const TreeEnsemble::TreeNode& node : trees.nodes) {
    if (node.mode == Mode::leaf) {
      const bool valid = node.first_weight >= 0 && node.first_weight <= node.last_weight &&
                         static_cast<std::size_t>(node.last_weight) <= weights.size();
      if (!valid) return std::nullopt;
    } else if (node.mode == Mode::eq || node.mode == Mode::neq || node.feature < 0 ||
               !(std::abs(node.value) <= std::numeric_limits<float>::max()) || !inside(node.if_true) ||
               !inside(node.if_false)) {
      return std::nullopt;
    }
  }
  std::vector<std::int32_t> depths, level, next;
  for (const std::int32_t root : trees.roots) {
    if (!inside(root)) return std::nullopt;
    std::int32_t depth = 0;
    std::size_t visited = 0;
    for (level = {root}; !level.empty(); level.swap(next)) {
      next.clear();
      for (const std::int32_t index : level) {
        const TreeEnsemble::TreeNode& node = trees.nodes[static_cast<std::size_t>(index)];
        if (node.mode != Mode::leaf) next.insert(next.end(), {node.if_true, node.if_false});
      }
      visited += level.size();
      if (visited > trees.nodes.size()) return std::nullopt;  // nodes are shared, or a cycle
      if (!next.empty()) ++depth;
    }
    depths.push_back(depth);
  }
  return depths;
}

std::optional<std::vector<Interval>> pad_axes_of(const Graph& graph, const Node& node) {
  const auto rank = static_cast<std::int64_t>(graph.value(node.inputs[0]).type.static_shape().size());
  const auto pads = constant_ints(graph, node, 1);
  const auto axes = constant_ints(graph, node, 3);
  if (!pads || (node.input(3) != kAbsent && !axes)) return std::nullopt;
  std::vector<Interval> result(static_cast<std::size_t>(rank), Interval{0, 0});
  const std::size_t count = pads->size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t axis = axes ? (*axes)[i] : static_cast<std::int64_t>(i);
    result[static_cast<std::size_t>(normalize_axis(axis, rank, node))] = {(*pads)[i], (*pads)[i + count]};
  }
  return result;
}

namespace {

KernelChoice choose_rows(const Graph& graph, const Node& node, Math math, kernels::Isa isa) {
  const Context context{graph, node, math, isa};
  if (std::holds_alternative<Reshape>(node.op) || std::holds_alternative<Flatten>(node.op) ||
      std::holds_alternative<Squeeze>(node.op) || std::holds_alternative<Unsqueeze>(node.op))
    return rows(Family::view);
  const auto* trees = std::get_if<TreeEnsemble>(&node.op);
  for (const ValueId id : node.outputs) {
    if (id == kAbsent || is_float_tensor(graph.value(id))) continue;
    const bool label = trees && trees->classifier && graph.value(id).type.dtype == DType::i64;
    if (!label) return island("type has no kernel");
  }
  if (node.inputs.empty() || node.inputs[0] == kAbsent) return island("no kernel for this operator");
  if (!is_float_tensor(graph.value(node.inputs[0]))) return island("type has no kernel");
  if (const Value* second = context.input(1); std::holds_alternative<Binary>(node.op) && !is_float_tensor(*second))
    return island("type has no kernel");
  for (const ValueId id : node.inputs)
    if (id != kAbsent && !graph.value(id).type.is_static()) return island("shape is unknown");
  const auto empty = [&](ValueId id) {
    return id != kAbsent && element_count(graph.value(id).type.static_shape()) == 0;
  };
  if (std::any_of(node.outputs.begin(), node.outputs.end(), empty)) return island("empty tensor");
  if (node.outputs[0] == kAbsent && !std::holds_alternative<Recurrent>(node.op))
    return island("the first output is left out");
  return std::visit([&](const auto& op) { return choose(op, context); }, node.op);
}

/// Nothing goes in, yet something comes out: sums of nothing, padding. Loops over rows of input never get there.
bool makes_of_nothing(const Graph& graph, const Node& node) {
  const auto empty = [&](ValueId id) {
    const Shape& shape = graph.value(id).type.static_shape();
    return std::find(shape.begin(), shape.end(), 0) != shape.end();
  };
  if (node.input(0) == kAbsent || !graph.value(node.input(0)).type.is_tensor() || !empty(node.input(0))) return false;
  return !std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return id == kAbsent || empty(id); });
}

/// Plans count rows one by one, kernels columns.
bool is_vast(const Graph& graph, const Node& node) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 22, kMostColumns = std::int64_t{1} << 26;
  const auto vast = [&](ValueId id) {
    if (id == kAbsent || graph.value(id).constant || !graph.value(id).type.is_static()) return false;
    const RowShape shape = row_shape(graph.value(id).type.static_shape());
    return shape.rows > kMostRows || shape.width > kMostColumns;
  };
  return std::any_of(node.inputs.begin(), node.inputs.end(), vast) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), vast);
}

}  // namespace

KernelChoice choose_kernel(const Graph& graph, const Node& node, Math math, kernels::Isa isa) {
  if (makes_of_nothing(graph, node)) return island("its input is empty");
  if (is_vast(graph, node)) return island("more rows or columns than a plan can count");
  KernelChoice choice = choose_rows(graph, node, math, isa);
  return choice.family == Family::island && has_typed_kernel(graph, node) ? rows(Family::typed) : choice;
}

}  // namespace colonnade
