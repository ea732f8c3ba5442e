// SPDX-License-Identifier: Apache-2.0
// Convolutions of one input whose results are added become one.
#include <gtest/gtest.h>

#include "passes/graphs.hpp"
#include "passes/pass_list.hpp"
#include "passes/passes.hpp"

namespace colonnade::test {
namespace {

/// A square window.
Conv window(std::int64_t kernel, std::int64_t pad, std::int64_t groups = 1, std::int64_t stride = 1,
            std::int64_t dilation = 1) {
  Conv conv;
  conv.kernel = {kernel, kernel};
  conv.strides = {stride, stride};
  conv.dilations = {dilation, dilation};
  conv.pads = {pad, pad, pad, pad};
  conv.groups = groups;
  return conv;
}

/// A convolution of [N, H, W, C] to `outputs` channels.
ValueId convolved(Builder& b, const std::string& name, ValueId x, const Conv& conv, std::int64_t outputs,
                  bool bias = true) {
  Shape shape{outputs, b.shape(x).back() / conv.groups};
  shape.insert(shape.end(), conv.kernel.begin(), conv.kernel.end());
  std::vector<ValueId> inputs{x, b.weights(name + "_w", shape)};
  if (bias) inputs.push_back(b.weights(name + "_b", {outputs}));
  return b.node(name, conv, inputs);
}

/// Whether the sum of two convolutions of [1, 9, 8, `channels`] becomes one; the results stay the same.
bool joins(const Conv& first, const Conv& second, std::int64_t channels = 4, std::int64_t outputs = 4) {
  Builder b;
  const ValueId x = b.input("x", {1, 9, 8, channels});
  const ValueId a = convolved(b, "a", x, first, outputs), c = convolved(b, "c", x, second, outputs, false);
  b.output(b.binary("sum", BinaryKind::add, a, c));
  Graph after = b.graph;
  const bool changed = rewrite::join_branches(after);
  verify(after);
  expect_same_results(b.graph, after, 3);
  EXPECT_EQ(count_of<Conv>(after), changed ? 1 : 2);
  EXPECT_EQ(count_of<Binary>(after), changed ? 0 : 1);
  return changed;
}

TEST(JoinBranches, TapsOfBoth) {
  EXPECT_TRUE(joins(window(3, 1), window(1, 0)));
  EXPECT_TRUE(joins(window(1, 0), window(3, 1)));
  EXPECT_TRUE(joins(window(3, 1), window(3, 1)));
  EXPECT_TRUE(joins(window(5, 2), window(3, 1)));
  EXPECT_TRUE(joins(window(3, 1, 1, 2), window(1, 0, 1, 2)));        // strides
  EXPECT_TRUE(joins(window(3, 2, 1, 1, 2), window(3, 2, 1, 1, 2)));  // holes
  EXPECT_TRUE(joins(window(3, 2, 1, 1, 2), window(1, 0)));
  EXPECT_TRUE(joins(window(3, 1, 4), window(1, 0, 4)));  // depthwise
  EXPECT_TRUE(joins(window(3, 1), window(1, 0, 4)));     // a dense one and a scale
  EXPECT_TRUE(joins(window(1, 0, 4), window(3, 1, 2)));
  Conv high = window(3, 1), wide = window(1, 0);
  wide.kernel = {1, 3};
  wide.pads = {0, 1, 0, 1};
  EXPECT_TRUE(joins(high, wide));
  wide.pads = {0, 2, 0, 0};  // looks back
  high.kernel = {1, 2};
  high.pads = {0, 1, 0, 0};
  EXPECT_TRUE(joins(high, wide));
  EXPECT_TRUE(joins(window(3, 1, 2), window(1, 0, 2), 8, 12));  // more outputs than inputs
}

TEST(JoinBranches, OthersStay) {
  EXPECT_FALSE(joins(window(3, 2, 1, 1, 2), window(3, 1)));  // taps on two grids
  EXPECT_FALSE(joins(window(3, 1, 4), window(1, 0)));        // a dense window of nine taps is more than both
  Conv high = window(1, 0), wide = window(1, 0);
  high.kernel = {3, 1};
  high.pads = {1, 0, 1, 0};
  wide.kernel = {1, 3};
  wide.pads = {0, 1, 0, 1};
  EXPECT_FALSE(joins(high, wide));
  Conv exact = window(3, 1);
  exact.exact = true;
  EXPECT_FALSE(joins(exact, window(1, 0)));
  Conv active = window(3, 1);
  active.epilogue.activation.kind = UnaryKind::relu;
  EXPECT_FALSE(joins(active, window(1, 0)));
  EXPECT_FALSE(joins(window(3, 1, 2), window(3, 1, 3), 6, 6));
}

TEST(JoinBranches, WhatOthersReadStays) {
  Builder b;
  const ValueId x = b.input("x", {1, 6, 6, 4});
  const ValueId a = convolved(b, "a", x, window(3, 1), 4), c = convolved(b, "c", x, window(1, 0), 4);
  b.output(b.binary("sum", BinaryKind::add, a, c));
  b.output(c);
  EXPECT_FALSE(rewrite::join_branches(b.graph));
  Builder of_two;
  const ValueId u = of_two.input("u", {1, 6, 6, 4}), v = of_two.input("v", {1, 6, 6, 4});
  of_two.output(of_two.binary("sum", BinaryKind::add, convolved(of_two, "a", u, window(3, 1), 4),
                              convolved(of_two, "c", v, window(1, 0), 4)));
  EXPECT_FALSE(rewrite::join_branches(of_two.graph));
}

/// The terms of a sum may come in any order, with others between them.
TEST(JoinBranches, AmongOtherTerms) {
  Builder b;
  const ValueId x = b.input("x", {2, 7, 5, 6}), y = b.input("y", {2, 7, 5, 6});
  const ValueId first = convolved(b, "a", x, window(3, 1, 6), 6), of_other = convolved(b, "o", y, window(1, 0), 6);
  ValueId sum = b.binary("s1", BinaryKind::add, first, of_other);
  sum = b.binary("s2", BinaryKind::add, y, b.binary("s3", BinaryKind::add, sum, y));
  sum = b.binary("s4", BinaryKind::add, convolved(b, "c", x, window(1, 0, 6), 6), sum);
  sum = b.binary("s5", BinaryKind::add, sum, convolved(b, "d", x, window(5, 2, 6), 6));
  b.output(b.unary("out", UnaryKind::relu, sum));
  Graph after = b.graph;
  EXPECT_TRUE(rewrite::join_branches(after));
  EXPECT_EQ(count_of<Conv>(after), 2);
  expect_same_results(b.graph, after, 4);
  EXPECT_EQ(count_of<Conv>(optimized(b.graph)), 2);
}

/// However many terms a sum has, it takes little stack, and filters near each other are found.
TEST(JoinBranches, LongSums) {
  Builder b;
  const ValueId x = b.input("x", {1, 1, 1, 1});
  ValueId sum =
      b.binary("first", BinaryKind::add, convolved(b, "a", x, window(1, 0), 1), convolved(b, "c", x, window(1, 0), 1));
  for (int i = 0; i < 200000; ++i) {
    const auto next = static_cast<ValueId>(b.graph.values.size());
    b.graph.values.push_back({"s" + std::to_string(i), b.graph.value(x).type, {}, nullptr});
    b.graph.nodes.push_back({Binary{BinaryKind::add}, {sum, x}, {next}, "s", "Add"});
    sum = next;
  }
  b.output(sum);
  EXPECT_TRUE(rewrite::join_branches(b.graph));
  EXPECT_EQ(count_of<Conv>(b.graph), 1);
}

/// RepViT's blocks: the sum of filters and their input is normalised, which goes into weights.
TEST(JoinBranches, TheInputIsATerm) {
  for (const bool depthwise : {false, true}) {
    Builder b;
    const ValueId x = b.input("x", {1, 8, 10, 10});
    const ValueId filters =
        b.binary("filters", BinaryKind::add, b.conv("a", x, 8, 3, depthwise), b.conv("c", x, 8, 1, depthwise));
    b.output(b.batch_norm("n", b.binary("sum", BinaryKind::add, x, filters)));
    const Graph after = optimized(b.graph);
    EXPECT_EQ(count_of<Conv>(after), depthwise ? 1 : 2) << operators_of(after);  // else an affine map is the second
  }
  Builder b;
  const ValueId x = b.input("x", {1, 9, 9, 6});
  const ValueId c = convolved(b, "c", x, window(3, 0, 6), 6);  // smaller than x
  const ValueId part =
      b.node("part", Slice{}, {x, b.ints("from", {1, 1}), b.ints("to", {8, 8}), b.ints("axes", {1, 2})});
  b.output(b.binary("sum", BinaryKind::add, c, part));
  Conv backwards = window(3, 0, 6, 1, 2);
  backwards.kernel = {2, 2};
  backwards.pads = {1, 1, 1, 1};  // no tap at the pixel itself
  b.output(b.binary("other", BinaryKind::add, x, convolved(b, "d", x, backwards, 6)));
  Graph after = b.graph;
  EXPECT_FALSE(rewrite::join_branches(after));
}

/// MobileOne's blocks as they are trained: normalised branches and a normalised input.
TEST(JoinBranches, NormalisedBranches) {
  for (const bool depthwise : {false, true}) {
    Builder b;
    const ValueId x = b.input("x", {1, 8, 12, 12});
    ValueId sum = b.batch_norm("n0", x);
    for (const std::int64_t kernel : {1, 3, 3, 3}) {
      const std::string name = "c" + std::to_string(b.graph.nodes.size());
      sum = b.binary(name + "_sum", BinaryKind::add, sum,
                     b.batch_norm(name + "_n", b.conv(name, x, 8, kernel, depthwise)));
    }
    b.output(b.unary("out", UnaryKind::relu, sum));
    const Graph after = optimized(b.graph);
    EXPECT_EQ(count_of<Conv>(after), 1) << operators_of(after);
    EXPECT_EQ(count_of<Binary>(after), 0) << operators_of(after);
  }
}

/// Weights that no cache of small constants holds are a recipe, read from any place on.
TEST(JoinBranches, LargeWeightsAreReadInParts) {
  Builder b;
  const ValueId x = b.input("x", {1, 4, 4, 48});
  const ValueId a = convolved(b, "a", x, window(3, 1), 48), c = convolved(b, "c", x, window(1, 0, 48), 48);
  b.output(b.binary("sum", BinaryKind::add, a, c));
  Graph after = b.graph, again = b.graph;
  ASSERT_TRUE(rewrite::join_branches(after) && rewrite::join_branches(again));
  expect_same_results(b.graph, after, 5);
  const auto weights = [](const Graph& graph) { return graph.value(graph.nodes.at(0).inputs[1]).constant; };
  EXPECT_EQ(weights(after), weights(again));  // made once
  const auto all = weights(after)->tensor();
  std::vector<float> some(1000);
  weights(after)->read(777, std::as_writable_bytes(std::span(some)));
  for (std::size_t i = 0; i < some.size(); ++i) ASSERT_EQ(some[i], all->values<float>()[777 + i]) << i;
}

}  // namespace
}  // namespace colonnade::test
