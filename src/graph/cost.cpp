// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

constexpr double kTranscendental = function_of(UnaryKind::exp).flop;
constexpr double kNormalisation = 5;

/// The node with its static shapes as element counts.
struct Sizes {
  const Graph& graph;
  const Node& node;

  const Shape& input_shape(std::size_t input) const { return graph.value(node.input(input)).type.static_shape(); }
  /// Of the first output that is asked for.
  const Shape& output_shape() const {
    const auto present =
        std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id != kAbsent; });
    if (present == node.outputs.end()) fail(ErrorCode::internal, "node '{}' has no outputs", node.name);
    return graph.value(*present).type.static_shape();
  }
  double input(std::size_t index) const { return static_cast<double>(element_count(input_shape(index))); }
  double output() const { return static_cast<double>(element_count(output_shape())); }
};

double product(const Ints& values) {
  double result = 1;
  for (const std::int64_t value : values) result *= static_cast<double>(value);
  return result;
}

double epilogue_flop(const FusedEpilogue& epilogue) {
  return function_of(epilogue.activation.kind).flop + (epilogue.prelu_slope ? 1 : 0) + (epilogue.residual ? 1 : 0);
}

double bias_flop(const Node& node) { return node.input(2) == kAbsent ? 0 : 1; }

double flop(const Unary& op, const Sizes& sizes) { return function_of(op.kind).flop * sizes.output(); }
double flop(const Binary& op, const Sizes& sizes) {
  return (op.kind == BinaryKind::pow ? kTranscendental : 1) * sizes.output();
}
double flop(const Select&, const Sizes& sizes) { return sizes.output(); }
double flop(const Cast&, const Sizes& sizes) { return sizes.output(); }

double flop(const Conv& op, const Sizes& sizes) {
  const Shape& weight = sizes.input_shape(1);
  const double taps = sizes.input(1) / std::max(1.0, static_cast<double>(weight.front()));
  return sizes.output() * (2 * taps + bias_flop(sizes.node) + epilogue_flop(op.epilogue));
}

double flop(const ConvTranspose& op, const Sizes& sizes) {
  const Shape& weight = sizes.input_shape(1);
  const double taps = sizes.input(1) / std::max(1.0, static_cast<double>(weight.front()));
  return sizes.input(0) * 2 * taps + sizes.output() * (bias_flop(sizes.node) + epilogue_flop(op.epilogue));
}

double flop(const MatMul& op, const Sizes& sizes) {
  const Shape& a = sizes.input_shape(0);
  const bool swapped = op.transpose_a && a.size() > 1;
  const double depth = static_cast<double>(swapped ? a[a.size() - 2] : a.back());
  return sizes.output() * (2 * depth + bias_flop(sizes.node) + epilogue_flop(op.epilogue));
}

double flop(const Pool& op, const Sizes& sizes) { return sizes.output() * product(op.kernel); }

double flop(const Reduce& op, const Sizes& sizes) {
  switch (op.kind) {
    case ReduceKind::sum:
    case ReduceKind::mean:
    case ReduceKind::max:
    case ReduceKind::min:
    case ReduceKind::prod:
    case ReduceKind::log_sum: return sizes.input(0);
    case ReduceKind::l1:
    case ReduceKind::l2:
    case ReduceKind::sum_square: return 2 * sizes.input(0);
    case ReduceKind::log_sum_exp: return kTranscendental * sizes.input(0);
  }
  return sizes.input(0);
}

double flop(const ArgReduce&, const Sizes& sizes) { return sizes.input(0); }
double flop(const Softmax&, const Sizes& sizes) { return (kTranscendental + 4) * sizes.output(); }
double flop(const Hardmax&, const Sizes& sizes) { return 2 * sizes.output(); }
double flop(const BatchNorm&, const Sizes& sizes) { return 2 * sizes.output(); }
double flop(const InstanceNorm&, const Sizes& sizes) { return kNormalisation * sizes.output(); }
double flop(const LayerNorm&, const Sizes& sizes) { return kNormalisation * sizes.output(); }
double flop(const Lrn& op, const Sizes& sizes) {
  return (kTranscendental + 2 * static_cast<double>(op.size)) * sizes.output();
}

double flop(const Resize& op, const Sizes& sizes) {
  if (op.mode == ResizeMode::nearest) return 0;
  const Shape& input = sizes.input_shape(0);
  const Shape& output = sizes.output_shape();
  double taps = 1;
  for (std::size_t axis = 0; axis < input.size(); ++axis) {
    if (input[axis] != output[axis]) taps *= op.mode == ResizeMode::linear ? 2 : 4;
  }
  return 2 * taps * sizes.output();
}

double flop(const Reshape&, const Sizes&) { return 0; }
double flop(const Flatten&, const Sizes&) { return 0; }
double flop(const Squeeze&, const Sizes&) { return 0; }
double flop(const Unsqueeze&, const Sizes&) { return 0; }
double flop(const Transpose&, const Sizes&) { return 0; }
double flop(const Concat&, const Sizes&) { return 0; }
double flop(const Slice&, const Sizes&) { return 0; }
double flop(const Split&, const Sizes&) { return 0; }
double flop(const Pad&, const Sizes&) { return 0; }
double flop(const Expand&, const Sizes&) { return 0; }
double flop(const Tile&, const Sizes&) { return 0; }
double flop(const Gather&, const Sizes&) { return 0; }
double flop(const GatherElements&, const Sizes&) { return 0; }
double flop(const GatherNd&, const Sizes&) { return 0; }
double flop(const ScatterNd& op, const Sizes& sizes) { return op.mode == ScatterMode::replace ? 0 : sizes.input(2); }
double flop(const ScatterElements& op, const Sizes& sizes) {
  return op.mode == ScatterMode::replace ? 0 : sizes.input(2);
}
double flop(const DepthToSpace&, const Sizes&) { return 0; }
double flop(const SpaceToDepth&, const Sizes&) { return 0; }
double flop(const ShapeOf&, const Sizes&) { return 0; }
double flop(const SizeOf&, const Sizes&) { return 0; }
double flop(const Fill&, const Sizes&) { return 0; }
double flop(const Range&, const Sizes& sizes) { return 2 * sizes.output(); }
double flop(const OneHot&, const Sizes&) { return 0; }
double flop(const TopK& op, const Sizes& sizes) {
  const Shape& input = sizes.input_shape(0);
  const std::int64_t axis = normalize_axis(op.axis, static_cast<std::int64_t>(input.size()), sizes.node);
  return sizes.input(0) * std::log2(2.0 + static_cast<double>(input[static_cast<std::size_t>(axis)]));
}
double flop(const CumSum&, const Sizes& sizes) { return sizes.output(); }
double flop(const NonZero&, const Sizes& sizes) { return sizes.input(0); }
double flop(const Trilu&, const Sizes&) { return 0; }

double flop(const Einsum& op, const Sizes& sizes) {
  return static_cast<double>(sizes.node.inputs.size()) * einsum_points(op, RuleContext(sizes.graph, sizes.node));
}

double flop(const Recurrent& op, const Sizes& sizes) {
  const Shape& x = sizes.input_shape(0);
  const double steps = static_cast<double>(x[0]) * static_cast<double>(x[1]);
  const double weights = sizes.input(1) + sizes.input(2);
  const double states = static_cast<double>(op.hidden_size) * (op.direction == Direction::bidirectional ? 2 : 1);
  return steps * (2 * weights + 5 * kTranscendental * states);
}

double flop(const GridSample& op, const Sizes& sizes) {
  return sizes.output() * (op.mode == ResizeMode::nearest ? 1 : op.mode == ResizeMode::linear ? 8 : 32);
}

double flop(const TreeEnsemble& op, const Sizes& sizes) {
  const double trees = std::max<double>(1, static_cast<double>(op.roots.size()));
  const double depth = std::log2(2.0 + static_cast<double>(op.nodes.size()) / trees);
  return static_cast<double>(sizes.input_shape(0).front()) * trees * depth;
}

double flop(const Quantize&, const Sizes& sizes) { return 4 * sizes.output(); }
double flop(const Dequantize&, const Sizes& sizes) { return 2 * sizes.output(); }
double flop(const ByteScale&, const Sizes& sizes) { return 2 * sizes.input(0); }
double flop(const Lookup&, const Sizes& sizes) { return sizes.output(); }
double flop(const ByteConv& op, const Sizes& sizes) { return flop(op.window, sizes); }
double flop(const ByteMatMul&, const Sizes& sizes) { return flop(MatMul{}, sizes); }
double flop(const IntegerMatMul&, const Sizes& sizes) { return flop(MatMul{}, sizes); }
double flop(const ByteBinary&, const Sizes& sizes) { return 4 * sizes.output(); }
double flop(const ByteAverage& op, const Sizes& sizes) { return flop(op.window, sizes); }

double flop(const Attention& op, const Sizes& sizes) {
  const double size = static_cast<double>(sizes.input_shape(0).back()), out = sizes.output();
  const Shape v = heads_swapped(sizes.input_shape(2), op.heads_inside_v);
  const double keys = static_cast<double>(v[v.size() - 2]), columns = static_cast<double>(v.back());
  return columns == 0 ? 0
                      : out / columns * keys * (2 * size + 2 * columns + (op.cap == 0 ? 1 : 2) * kTranscendental + 4);
}
double flop(const If&, const Sizes&) { return 0; }
double flop(const Loop&, const Sizes&) { return 0; }
double flop(const Scan&, const Sizes&) { return 0; }
double flop(const Opaque&, const Sizes& sizes) { return sizes.output(); }

}  // namespace

double flop_of(const Graph& graph, const Node& node) {
  const Sizes sizes{graph, node};
  return std::visit([&](const auto& op) { return flop(op, sizes); }, node.op);
}

Shape heads_swapped(Shape shape, bool inside) {
  if (inside) std::swap(shape[shape.size() - 3], shape[shape.size() - 2]);
  return shape;
}

std::int64_t bytes_of(const Value& value) {
  return checked_mul(element_count(value.type.static_shape()), static_cast<std::int64_t>(size_of(value.type.dtype)));
}

}  // namespace colonnade
