// SPDX-License-Identifier: Apache-2.0
// Passes that move channels about: shuffles, blocks, slices and concatenations, and per-channel scales.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "passes/graphs.hpp"
#include "passes/passes.hpp"
#include "reference/elements.hpp"
#include "reference/reference.hpp"
#include "support/execute.hpp"

namespace colonnade::test {
namespace {

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

ValueId doubles(Builder& b, const char* name, const Shape& shape) {
  b.graph.inputs.push_back(b.graph.add_value(name, {DType::f64, shape}));
  return b.graph.inputs.back();
}

TEST(FlattenNorms, OfDoublesInSteps) {
  for (const bool rms : {false, true})
    for (const std::int64_t axis : {-1, 1})
      for (const bool biased : {false, true}) {
        Builder b;
        const Shape lines = axis == 1 ? Shape{4, 5} : Shape{5};
        std::vector<ValueId> operands{doubles(b, "x", {3, 4, 5})};
        operands.push_back(doubles(b, "scale", lines));
        if (biased) operands.push_back(doubles(b, "bias", {5}));
        b.output(b.node("norm", LayerNorm{.axis = axis, .rms = rms}, operands));
        Graph steps = b.graph;
        optimize(steps, {});
        EXPECT_EQ(count_of<LayerNorm>(steps), 0);
        std::vector<Tensor> tensors;
        for (const ValueId id : b.graph.inputs) {
          const Shape& shape = *b.graph.value(id).type.shape;
          std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
          for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * i % 17) - 5;
          tensors.push_back(reference::tensor_of(DType::f64, shape, values));
        }
        const auto expected = reference::evaluate(b.graph, views_of(tensors)),
                   found = reference::evaluate(steps, views_of(tensors));
        ASSERT_EQ(found[0].shape(), expected[0].shape());
        for (std::size_t i = 0; i < found[0].values<double>().size(); ++i)
          EXPECT_NEAR(found[0].values<double>()[i], expected[0].values<double>()[i], 1e-12);
      }
}

/// Of doubles, infinite and missing numbers among them.
TEST(SplitReductions, LogSumExpOfDoublesInSteps) {
  for (const bool keepdims : {false, true})
    for (const Ints& axes : {Ints{1}, {0, 2}, {0, 1, 2}}) {
      Builder b;
      const ValueId x = doubles(b, "x", {3, 4, 5});
      b.output(b.node("reduce", Reduce{ReduceKind::log_sum_exp, keepdims}, {x, b.ints("axes", axes)}));
      Graph split = b.graph;
      optimize(split, {});
      for (const Node& node : split.nodes) {
        const auto* reduced = std::get_if<Reduce>(&node.op);
        EXPECT_TRUE(reduced == nullptr || reduced->kind != ReduceKind::log_sum_exp);
      }
      for (const double special : {1e300, -HUGE_VAL, HUGE_VAL, std::nan("")}) {
        std::vector<double> values(60);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 13) - 400;
        for (std::size_t i = 20; i < 40; ++i) values[i] = special;
        const Tensor input = reference::tensor_of(DType::f64, {3, 4, 5}, values);
        const auto expected = reference::evaluate(b.graph, views_of({input})),
                   found = reference::evaluate(split, views_of({input}));
        ASSERT_EQ(found[0].shape(), expected[0].shape());
        for (std::size_t i = 0; i < found[0].values<double>().size(); ++i) {
          const double a = found[0].values<double>()[i], e = expected[0].values<double>()[i];
          EXPECT_TRUE(a == e || (std::isnan(a) && std::isnan(e)) || std::abs(a - e) < 1e-12) << a << " " << e;
        }
      }
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
