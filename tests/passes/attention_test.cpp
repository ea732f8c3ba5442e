// SPDX-License-Identifier: Apache-2.0
// Attention as exporters write it: heads are read and written where they lie, the scale goes into the weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "graph/contraction.hpp"
#include "passes/graphs.hpp"
#include "passes/passes.hpp"

namespace colonnade::test {
namespace {

constexpr std::int64_t kRows = 6, kHeads = 2, kSize = 4, kChannels = kHeads * kSize;

ValueId heads(Builder& b, const std::string& name, ValueId x, const Ints& perm) {
  const ValueId projected =
      b.node(name, MatMul{}, {x, b.weights(name + "_w", {kChannels, kChannels}), b.weights(name + "_b", {kChannels})});
  const ValueId split = b.node(name + "_split", Reshape{}, {projected, b.ints("heads", {1, kRows, kHeads, kSize})});
  return b.transpose(name + "_heads", split, perm);
}

/// Scores of queries and keys, times a scale; `more` reads the scores before it as well.
ValueId scores(Builder& b, ValueId x, bool more = false) {
  const ValueId product = b.node("scores", MatMul{}, {heads(b, "q", x, {0, 2, 1, 3}), heads(b, "k", x, {0, 2, 3, 1})});
  if (more) b.output(product);
  return b.binary("scaled", BinaryKind::mul, product, b.scalar("scale", 0.5f));
}

TEST(Attention, NeedsNoTransposesAndNoScale) {
  Builder b;
  const ValueId x = b.input("x", {1, kRows, kChannels});
  const ValueId weights = b.node("softmax", Softmax{-1, false}, {scores(b, x)});
  const ValueId mixed = b.node("mixed", MatMul{}, {weights, heads(b, "v", x, {0, 2, 1, 3})});
  const ValueId joined =
      b.node("joined", Reshape{}, {b.transpose("rows", mixed, {0, 2, 1, 3}), b.ints("all", {1, kRows, kChannels})});
  b.output(b.node("out", MatMul{}, {joined, b.weights("w", {kChannels, kChannels})}));
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(count_of<Transpose>(graph), 0) << operators_of(graph);
  EXPECT_EQ(count_of<Binary>(graph), 0) << operators_of(graph);
  EXPECT_EQ(count_of<Softmax>(graph), 0) << operators_of(graph);
  EXPECT_EQ(count_of<Attention>(graph), 1);
  EXPECT_EQ(count_of<MatMul>(graph), 4);
}

/// Rows first, one image, as sequences of PyTorch's attention are.
ValueId rows_first(Builder& b, const std::string& name, ValueId x) {
  const ValueId projected = b.node(name, MatMul{}, {x, b.weights(name + "_w", {kChannels, kChannels})});
  const ValueId split = b.node(name + "_split", Reshape{}, {projected, b.ints("heads", {kRows, kHeads, kSize})});
  return b.node(name + "_all", Reshape{},
                {b.transpose(name + "_heads", split, {1, 0, 2}), b.ints("all", {1, kHeads, kRows, kSize})});
}

TEST(Attention, NeedsNoTransposesWithRowsFirst) {
  Builder b;
  const ValueId x = b.input("x", {kRows, 1, kChannels});
  const ValueId scores = b.node("scores", MatMul{false, true, {}}, {rows_first(b, "q", x), rows_first(b, "k", x)});
  const ValueId mixed =
      b.node("mixed", MatMul{}, {b.node("softmax", Softmax{-1, false}, {scores}), rows_first(b, "v", x)});
  const ValueId joined =
      b.node("joined", Reshape{}, {b.transpose("rows", mixed, {2, 0, 1, 3}), b.ints("joint", {kRows, kChannels})});
  b.output(b.node("out", MatMul{}, {joined, b.weights("w", {kChannels, kChannels})}));
  const Graph graph = optimized(b.graph);
  EXPECT_EQ(count_of<Transpose>(graph), 0) << to_text(graph);
  EXPECT_EQ(count_of<Attention>(graph), 1);
  EXPECT_EQ(count_of<MatMul>(graph), 4);
}

/// Scores, what is made of them by `masked`, and what that mixes of the values.
template <class Masked>
Graph masked_attention(Masked masked) {
  Builder b;
  const ValueId x = b.input("x", {1, kRows, kChannels});
  const ValueId weights = b.node("softmax", Softmax{3, false}, {masked(b, scores(b, x))});
  const ValueId mixed = b.node("mixed", MatMul{}, {weights, heads(b, "v", x, {0, 2, 1, 3})});
  b.output(b.transpose("rows", mixed, {0, 2, 1, 3}));
  return optimized(b.graph);
}

TEST(Attention, TakesMasksAndBiases) {
  const Graph graph = masked_attention([](Builder& b, ValueId scores) {
    const ValueId biased = b.binary("biased", BinaryKind::add, b.input("bias", {kHeads, kRows, kRows}), scores);
    return b.binary("masked", BinaryKind::add, biased, b.input("mask", {1, 1, 1, kRows}));
  });
  EXPECT_EQ(count_of<Attention>(graph), 1) << to_text(graph);
  EXPECT_EQ(count_of<Binary>(graph), 0) << to_text(graph);
}

/// As Gemma 2 has them: a quotient, tanh, a product, then masks.
TEST(Attention, TakesCaps) {
  const Graph graph = masked_attention([](Builder& b, ValueId scores) {
    const ValueId share = b.binary("share", BinaryKind::div, scores, b.scalar("cap", 0.75f));
    const ValueId capped =
        b.binary("capped", BinaryKind::mul, b.unary("bent", UnaryKind::tanh, share), b.scalar("cap_again", 0.75f));
    return b.binary("masked", BinaryKind::add, capped, b.input("mask", {1, 1, 1, kRows}));
  });
  EXPECT_EQ(count_of<Attention>(graph), 1) << to_text(graph);
  EXPECT_EQ(count_of<Binary>(graph) + count_of<Unary>(graph), 0) << to_text(graph);
}

struct Shares {
  ValueId scores = kAbsent, sinks = kAbsent;
  bool shifted = false;
  Ints end{-1};
};
/// As gpt-oss has them: softmax of scores and sinks side by side, of which the last column is left out.
ValueId shares_with_sinks(Builder& b, const Shares& of) {
  const ValueId wide = b.node("sinks", Expand{}, {of.sinks, b.ints("columns", {1, kHeads, kRows, 1})});
  ValueId both = b.node("both", Concat{-1}, {of.scores, wide});
  if (of.shifted) {
    const ValueId most = b.node("most", Reduce{.kind = ReduceKind::max}, {both, b.ints("last", {-1})});
    both = b.binary("shifted", BinaryKind::sub, both, most);
  }
  const ValueId shares = b.node("softmax", Softmax{-1, false}, {both});
  return b.node("kept", Slice{}, {shares, b.ints("begin", {0}), b.ints("end", of.end), b.ints("axis", {3})});
}

Graph attention_with_sinks(const Shape& shape, bool shifted, const Ints& end) {
  Builder b;
  const ValueId x = b.input("x", {1, kRows, kChannels}), v = b.input("v", {1, kHeads, kRows + 1 + end[0], kSize});
  const ValueId shares = shares_with_sinks(b, {scores(b, x), b.input("sink", shape), shifted, end});
  b.output(b.node("mixed", MatMul{}, {shares, v}));
  Graph graph = optimized(b.graph);
  expect_same_results(b.graph, graph, 1);
  return graph;
}

TEST(Attention, TakesSinks) {
  for (const bool shifted : {false, true})
    for (const Shape& shape : {Shape{1}, {kHeads, 1, 1}, {1, 1, kRows, 1}}) {
      const Graph graph = attention_with_sinks(shape, shifted, {-1});
      EXPECT_EQ(count_of<Attention>(graph), 1) << to_text(graph);
      EXPECT_EQ(count_of<Softmax>(graph) + count_of<Concat>(graph) + count_of<Expand>(graph), 0) << to_text(graph);
    }
}

TEST(Attention, LeavesOtherPartsOfShares) {
  EXPECT_EQ(count_of<Attention>(attention_with_sinks({kHeads, 1, 1}, false, {-2})), 0);
}

TEST(Attention, LeavesMasksUnderCaps) {
  const Graph graph = masked_attention([](Builder& b, ValueId scores) {
    const ValueId masked = b.binary("masked", BinaryKind::add, scores, b.input("mask", {1, 1, 1, kRows}));
    return b.binary("capped", BinaryKind::mul, b.unary("bent", UnaryKind::tanh, masked), b.scalar("cap", 0.75f));
  });
  EXPECT_EQ(count_of<Attention>(graph), 0) << to_text(graph);
}

TEST(Attention, TakesConditionsThatBarScores) {
  for (const float far : {-1e20f, -std::numeric_limits<float>::infinity()})
    for (const bool bars : {true, false}) {
      const Graph graph = masked_attention([&](Builder& b, ValueId scores) {
        const ValueId condition =
            b.binary("condition", BinaryKind::less, b.input("first", {1, 1, kRows, kRows}), b.scalar("limit", 0.5f));
        const ValueId number = b.scalar("far", far);
        return b.node("barred", Select{}, {condition, bars ? number : scores, bars ? scores : number});
      });
      EXPECT_EQ(count_of<Attention>(graph), 1) << to_text(graph);
    }
}

TEST(Attention, TakesZerosForSharesThatAreNone) {
  Builder b;
  const ValueId x = b.input("x", {1, kRows, kChannels});
  const ValueId shares = b.node("softmax", Softmax{-1, false}, {scores(b, x)});
  const ValueId none = b.node("none", Unary{UnaryKind::is_nan}, {shares});
  const ValueId safe = b.node("safe", Select{}, {none, b.scalar("zero", 0.0f), shares});
  b.output(b.node("mixed", MatMul{}, {safe, heads(b, "v", x, {0, 2, 1, 3})}));
  const Graph graph = optimized(b.graph);
  ASSERT_EQ(count_of<Attention>(graph), 1) << to_text(graph);
  for (const Node& node : graph.nodes) {
    const auto* op = std::get_if<Attention>(&node.op);
    EXPECT_TRUE(op == nullptr || op->without_shares == WithoutShares::zero);
  }
}

/// As ONNX's Attention writes it: rows whose mask is -inf from end to end.
Graph attention_with_barred_rows(bool of_the_mask) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Builder b;
  const ValueId x = b.input("x", {1, kRows, kChannels}), mask = b.input("mask", {1, 1, kRows, kRows}),
                other = b.input("other", {1, 1, kRows, kRows});
  const ValueId masked = b.binary("masked", BinaryKind::add, scores(b, x), mask);
  const ValueId shares = b.node("softmax", Softmax{-1, false}, {masked});
  const ValueId most =
      b.node("most", Reduce{.kind = ReduceKind::max}, {of_the_mask ? mask : other, b.ints("axes", {-1})});
  const ValueId barred = b.binary("barred", BinaryKind::equal, most, b.scalar("infinity", -kInfinity));
  const ValueId safe = b.node("safe", Select{}, {barred, b.scalar("zero", 0.0f), shares});
  b.output(b.node("mixed", MatMul{}, {safe, heads(b, "v", x, {0, 2, 1, 3})}));
  return optimized(b.graph);
}

TEST(Attention, TakesZerosForBarredRows) {
  const Graph graph = attention_with_barred_rows(true);
  ASSERT_EQ(count_of<Attention>(graph), 1) << to_text(graph);
  EXPECT_EQ(count_of<Select>(graph) + count_of<Reduce>(graph), 0) << to_text(graph);
  for (const Node& node : graph.nodes) {
    const auto* op = std::get_if<Attention>(&node.op);
    EXPECT_TRUE(op == nullptr || op->without_shares == WithoutShares::zero_where_barred);
  }
  EXPECT_EQ(count_of<Attention>(attention_with_barred_rows(false)), 0);
}

/// Where no weights stand before queries, their factor is one of the scores.
TEST(Attention, TakesTheFactorOfQueries) {
  Builder b;
  const Shape shape{1, kHeads, kRows, kSize};
  const ValueId q = b.binary("scaled", BinaryKind::mul, b.input("q", shape), b.scalar("scale", 0.5f));
  const ValueId scores = b.node("scores", MatMul{false, true, {}}, {q, b.input("k", shape)});
  const ValueId shares = b.node("softmax", Softmax{-1, false}, {scores});
  b.output(b.node("mixed", MatMul{}, {shares, b.input("v", shape)}));
  EXPECT_EQ(operators_of(optimized(b.graph)), "Attention");
}

TEST(Attention, LeavesScoresThatOthersRead) {
  const Graph graph = masked_attention([](Builder& b, ValueId scores) {
    b.output(scores);
    return scores;
  });
  EXPECT_EQ(count_of<Attention>(graph), 0) << to_text(graph);
}

TEST(Attention, LeavesNumbersThatLeaveSomethingOfTheScores) {
  const Graph graph = masked_attention([](Builder& b, ValueId scores) {
    const ValueId condition =
        b.binary("condition", BinaryKind::less, b.input("first", {1, 1, 1, kRows}), b.scalar("limit", 0.5f));
    return b.node("barred", Select{}, {condition, scores, b.scalar("near", -1e4f)});
  });
  EXPECT_EQ(count_of<Attention>(graph), 0) << to_text(graph);
}

TEST(Attention, IsFoundBeforeShapesAreKnown) {
  Builder b;
  const ValueId x = b.input("x", {-1, -1, kChannels}), mask = b.input("mask", {-1, 1, 1, -1});
  const auto split = [&](const std::string& name, const Ints& perm) {
    const ValueId projected = b.node(name, MatMul{}, {x, b.weights(name + "_w", {kChannels, kChannels})});
    return b.transpose(name + "_heads", b.node(name + "_split", Reshape{}, {projected, b.ints("h", {0, 0, 2, 4})}),
                       perm);
  };
  const ValueId product = b.node("scores", MatMul{}, {split("q", {0, 2, 1, 3}), split("k", {0, 2, 3, 1})});
  const ValueId scaled = b.binary("scaled", BinaryKind::div, product, b.scalar("root", 2.0f));
  const ValueId weights = b.node("softmax", Softmax{-1, false}, {b.binary("masked", BinaryKind::add, scaled, mask)});
  const ValueId mixed = b.node("mixed", MatMul{}, {weights, split("v", {0, 2, 1, 3})});
  b.output(b.node("joined", Reshape{}, {b.transpose("rows", mixed, {0, 2, 1, 3}), b.ints("all", {0, 0, kChannels})}));
  Graph graph = b.graph;
  optimize(graph, {});
  EXPECT_EQ(count_of<Attention>(graph), 1) << to_text(graph);
  EXPECT_EQ(count_of<Transpose>(graph), 0) << to_text(graph);
  // A mask may turn out to have one number for all keys, of which each gets its own then.
  for (const Shape& of_mask : {Shape{2, 1, 1, 5}, Shape{2, 1, 1, 1}}) {
    const std::vector<Shape> shapes{{2, 5, kChannels}, of_mask};
    Graph bound = bind_shapes(graph, shapes);
    optimize(bound, {});
    const auto node =
        std::ranges::find_if(bound.nodes, [](const Node& each) { return std::holds_alternative<Attention>(each.op); });
    ASSERT_NE(node, bound.nodes.end()) << to_text(bound);
    EXPECT_EQ(bound.value(node->inputs[kAddendInput]).type.static_shape(), (Shape{2, 1, 1, 5}));
    expect_same_results(bind_shapes(b.graph, shapes), bound, 1);
  }
}

TEST(Attention, KeepsTheScaleOfScoresThatAreReadWithoutIt) {
  Builder b;
  b.output(scores(b, b.input("x", {1, kRows, kChannels}), true));
  EXPECT_EQ(count_of<Binary>(optimized(b.graph)), 1);
}

TEST(Attention, KeepsTransposesThatMoveOtherAxes) {
  Builder b;
  const ValueId x = b.input("x", {kHeads, kRows, kRows, kSize}), y = b.input("y", {kRows, kRows, kHeads, kSize});
  b.output(b.node("scores", MatMul{true, false, {}}, {x, b.transpose("moved", y, {2, 1, 0, 3})}));
  EXPECT_EQ(count_of<Transpose>(optimized(b.graph)), 1);
}

}  // namespace
}  // namespace colonnade::test
