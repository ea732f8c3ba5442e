// SPDX-License-Identifier: Apache-2.0
// Passes that move channels about: shuffles, blocks, slices and concatenations, and per-channel scales.
#include <gtest/gtest.h>

#include <algorithm>

#include "passes/graphs.hpp"
#include "passes/passes.hpp"

namespace colonnade::test {
namespace {

/// All passes; the results stay the same.
Graph optimized(const Graph& graph) {
  Graph result = graph;
  PassOptions options;
  options.verify = true;
  optimize(result, options);
  expect_same_results(graph, result, 5, 1e-4);
  return result;
}

/// Parts of the Concat with the most.
std::size_t widest_concat(const Graph& graph) {
  std::size_t parts = 0;
  for (const Node& node : graph.nodes)
    if (std::holds_alternative<Concat>(node.op)) parts = std::max(parts, node.inputs.size());
  return parts;
}

ValueId shuffle(Builder& b, ValueId x, std::int64_t groups) {
  const Shape shape = b.shape(x);
  const ValueId blocks =
      b.node("blocks", Reshape{}, {x, b.ints("split", {shape[0], groups, shape[1] / groups, shape[2], shape[3]})});
  return b.node("shuffled", Reshape{}, {b.transpose("swapped", blocks, {0, 2, 1, 3, 4}), b.ints("join", shape)});
}

TEST(GatherChannels, ShufflesAreGathers) {
  Builder b;
  const ValueId x = b.conv("conv", b.input("x", {1, 4, 6, 5}), 12, 3);
  const ValueId y = b.binary("sum", BinaryKind::add, shuffle(b, x, 3), x);
  b.output(y);
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(count_of<Gather>(graph), 1);
  EXPECT_EQ(count_of<Reshape>(graph), 0);
}

TEST(GatherChannels, ContractionsComputeTheOrderAskedFor) {
  Builder b;
  const ValueId x = b.unary("relu", UnaryKind::relu, b.conv("conv", b.input("x", {1, 4, 6, 5}), 12, 3));
  b.output(b.conv("next", shuffle(b, x, 2), 4, 1));
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(count_of<Gather>(graph), 0);
  EXPECT_EQ(count_of<Conv>(graph), 2);
}

TEST(GatherChannels, ColumnRowDepthBlocks) {
  Builder b;
  const ValueId slope = b.weights("slope", {12, 1, 1});
  const ValueId x = b.binary("prelu", BinaryKind::prelu, b.conv("conv", b.input("x", {1, 4, 6, 5}), 12, 3), slope);
  b.output(b.node("blocks", DepthToSpace{2, true, 1}, {x}));
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(count_of<Gather>(graph), 0);
  EXPECT_EQ(count_of<DepthToSpace>(graph), 1);
}

TEST(GatherChannels, OrdersThatNoContractionTakesStay) {
  Builder b;
  b.output(b.node("blocks", DepthToSpace{2, true, 1}, {b.input("x", {1, 12, 3, 5})}));
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(count_of<Gather>(graph), 1);
}

/// Of a head's two halves one is read: the other is not computed.
TEST(GatherChannels, ContractionsComputeTheChannelsThatAreRead) {
  Builder b;
  const ValueId both = b.node("head", MatMul{}, {b.input("x", {3, 5}), b.weights("w", {5, 8}), b.weights("b", {8})});
  const ValueId low = b.node(
      "low", Slice{}, {both, b.ints("start", {1}), b.ints("end", {7}), b.ints("axis", {-1}), b.ints("step", {2})});
  b.output(b.unary("tanh", UnaryKind::tanh, low));
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(operators_of(graph), "MatMul");
  EXPECT_EQ(*graph.value(graph.nodes[0].inputs[1]).type.shape, (Shape{5, 3}));
}

TEST(GatherChannels, HalvesThatAreBothReadAreComputedTogether) {
  Builder b;
  const ValueId both = b.node("head", MatMul{}, {b.input("x", {3, 5}), b.weights("w", {5, 8})});
  const auto part = [&](const char* name, std::int64_t begin, std::int64_t end) {
    return b.node(name, Slice{}, {both, b.ints("start", {begin}), b.ints("end", {end}), b.ints("axis", {1})});
  };
  b.output(b.unary("tanh", UnaryKind::tanh, part("low", 0, 4)));
  b.output(b.unary("exp", UnaryKind::exp, part("high", 4, 8)));
  EXPECT_EQ(count_of<Slice>(optimized(b.graph)), 2);
}

TEST(JoinConcats, NeighbouringSlicesAreOnePart) {
  Builder b;
  const ValueId x = b.conv("conv", b.input("x", {1, 4, 6, 5}), 12, 3);
  const auto part = [&](const char* name, std::int64_t begin, std::int64_t end) {
    return b.node(name, Slice{}, {x, b.ints("start", {begin}), b.ints("end", {end}), b.ints("axis", {1})});
  };
  const ValueId low = part("low", 0, 5), high = part("high", 5, 12);
  const ValueId worked = b.conv("worked", high, 7, 3);
  b.output(b.conv("next", b.node("concat", Concat{1}, {low, high, worked}), 3, 1));
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(count_of<Slice>(graph), 1);
  EXPECT_EQ(widest_concat(graph), 2u);
}

TEST(JoinConcats, SlicesOutOfOrderStay) {
  Builder b;
  const ValueId x = b.conv("conv", b.input("x", {1, 4, 6, 5}), 12, 3);
  const auto part = [&](const char* name, std::int64_t begin, std::int64_t end) {
    return b.node(name, Slice{}, {x, b.ints("start", {begin}), b.ints("end", {end}), b.ints("axis", {1})});
  };
  b.output(b.node("concat", Concat{1}, {part("high", 6, 12), part("low", 0, 6)}));
  EXPECT_EQ(count_of<Slice>(optimized(b.graph)), 2);
}

TEST(JoinConcats, DenseBlocksShareWhatTheyJoined) {
  Builder b;
  std::vector<ValueId> parts{b.conv("first", b.input("x", {1, 4, 6, 5}), 8, 3)};
  for (int layer = 0; layer < 4; ++layer) {
    const std::string name = "layer" + std::to_string(layer);
    const ValueId all = parts.size() == 1 ? parts[0] : b.node(name + "_concat", Concat{1}, parts);
    parts.push_back(b.conv(name, b.unary(name + "_relu", UnaryKind::relu, all), 3, 3));
  }
  b.output(b.node("concat", Concat{1}, parts));
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(count_of<Concat>(graph), 4);
  EXPECT_EQ(widest_concat(graph), 2u);
}

TEST(FoldBatchNorm, WithAnActivationBehindItIsADepthwiseConvolution) {
  Builder b;
  const ValueId x = b.unary("before", UnaryKind::relu, b.conv("conv", b.input("x", {1, 4, 6, 5}), 8, 3));
  const ValueId y = b.unary("relu", UnaryKind::relu, b.batch_norm("norm", x));
  b.output(b.conv("next", y, 4, 1));
  EXPECT_EQ(operators_of(optimized(b.graph)), "Transpose Conv Conv Conv Transpose");
}

TEST(SplitReductions, InstanceNormScalesByStatisticsOfRows) {
  Builder b;
  const ValueId x = b.conv("conv", b.input("x", {1, 4, 6, 5}), 8, 3);
  const ValueId norm = b.node("norm", InstanceNorm{1e-5f, 1}, {x, b.weights("scale", {8}), b.weights("shift", {8})});
  b.output(b.conv("next", b.unary("relu", UnaryKind::relu, norm), 4, 1));
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(count_of<InstanceNorm>(graph), 0);
  EXPECT_EQ(count_of<Conv>(graph), 3);
  EXPECT_EQ(operators_of(graph).find("Relu"), std::string::npos);
}

constexpr ReduceKind kReductions[] = {
    ReduceKind::sum, ReduceKind::mean, ReduceKind::max,     ReduceKind::min,         ReduceKind::prod,
    ReduceKind::l1,  ReduceKind::l2,   ReduceKind::log_sum, ReduceKind::log_sum_exp, ReduceKind::sum_square};

Graph reduction(ReduceKind kind, const Shape& shape, const Ints& axes, bool keepdims) {
  Builder b;
  ValueId x = b.input("x", shape);
  if (kind == ReduceKind::log_sum || kind == ReduceKind::prod) x = b.unary("sigmoid", UnaryKind::sigmoid, x);
  b.output(b.node("reduce", Reduce{kind, keepdims}, {x, b.ints("axes", axes)}));
  return b.graph;
}

TEST(SplitReductions, AxesThatLieApartInTurn) {
  for (const ReduceKind kind : kReductions)
    for (const bool keepdims : {false, true}) {
      EXPECT_EQ(count_of<Reduce>(optimized(reduction(kind, {2, 3, 4, 5}, {0, 2, 3}, keepdims))), 2);
      EXPECT_EQ(count_of<Reduce>(optimized(reduction(kind, {2, 3, 4}, {0, 2}, keepdims))), 2);
      EXPECT_EQ(count_of<Reduce>(optimized(reduction(kind, {1, 3, 4}, {0, 2}, keepdims))), 1);
    }
}

TEST(SplitReductions, LongOnesInParts) {
  for (const ReduceKind kind : kReductions) {
    if (kind == ReduceKind::prod) continue;
    EXPECT_EQ(operators_of(optimized(reduction(kind, {2, 1 << 16}, {1}, false))).find("Reduce"),
              kind == ReduceKind::log_sum ? 16u : 8u);
    EXPECT_EQ(count_of<Reduce>(optimized(reduction(kind, {2, 1 << 16}, {1}, false))), 2);
    EXPECT_EQ(count_of<Reduce>(optimized(reduction(kind, {64, 1 << 10}, {1}, false))), 1);
  }
}

TEST(FlattenNorms, SeveralAxesAndComputedScales) {
  Builder flat;
  const ValueId x = flat.input("x", {2, 3, 4, 5});
  flat.output(
      flat.node("norm", LayerNorm{.axis = 2}, {x, flat.weights("scale", {4, 5}), flat.weights("bias", {4, 5})}));
  EXPECT_EQ(operators_of(optimized(flat.graph)), "Reshape LayerNorm Reshape");
  Builder computed;
  const ValueId y = computed.input("y", {2, 3, 4});
  computed.output(computed.node("norm", LayerNorm{}, {y, computed.input("scale", {4}), computed.input("bias", {4})}));
  EXPECT_EQ(operators_of(optimized(computed.graph)), "LayerNorm Mul Add");
}

TEST(ChannelsLast, ResizesBeforeItTransposes) {
  Builder b;
  const ValueId x = b.conv("conv", b.input("x", {1, 4, 6, 5}), 8, 3);
  Resize resize;
  resize.mode = ResizeMode::linear;
  b.output(b.node("resize", resize, {x, kAbsent, b.floats("scales", {4}, {1, 1, 3, 3})}));
  EXPECT_EQ(operators_of(optimized(b.graph)), "Transpose Conv Resize Transpose");
}

/// Statistics of the batch: a Reshape that turned with its input feeds a node that turns too, but not by that input.
TEST(ChannelsLast, ComputedStatisticsOfABatchNorm) {
  Builder b;
  const ValueId x = b.conv("conv", b.input("x", {2, 4, 6, 5}), 8, 3);
  const auto statistic = [&](const std::string& name, ReduceKind kind) {
    Reduce reduce;
    reduce.kind = kind;
    reduce.keepdims = true;
    const ValueId kept = b.node(name, reduce, {x, b.ints(name + "_axes", {0, 2, 3})});
    return b.node(name + "_flat", Reshape{}, {kept, b.ints(name + "_shape", {8})});
  };
  const ValueId mean = statistic("mean", ReduceKind::mean);
  const ValueId spread = statistic("spread", ReduceKind::l2);
  b.output(b.node("norm", BatchNorm{1e-5f, 1}, {x, b.weights("scale", {8}), b.weights("shift", {8}), mean, spread}));
  optimized(b.graph);
}

}  // namespace
}  // namespace colonnade::test
