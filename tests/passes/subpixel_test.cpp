// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "passes/graphs.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::test {
namespace {

struct Case {
  std::int64_t kernel, stride, pad_begin, pad_end, output_padding, channels, outputs;
};

Graph transposed(const Case& c, bool slope) {
  Builder b;
  const ValueId x = b.input("x", {2, 5, 6, c.channels});
  Tensor weight(DType::f32, {c.channels, c.outputs, c.kernel, c.kernel});
  for (float& w : weight.values<float>()) w = static_cast<float>(b.random()() % 100) / 100 - 0.5f;
  Tensor bias(DType::f32, {c.outputs}), slopes(DType::f32, {c.outputs});
  for (std::int64_t i = 0; i < c.outputs; ++i) {
    bias.values<float>()[static_cast<std::size_t>(i)] = 0.25f * static_cast<float>(i) - 0.5f;
    slopes.values<float>()[static_cast<std::size_t>(i)] = 0.1f * static_cast<float>(i);
  }
  ConvTranspose op;
  op.kernel = {c.kernel, c.kernel};
  op.strides = {c.stride, c.stride};
  op.dilations = {1, 1};
  op.pads = {c.pad_begin, c.pad_begin, c.pad_end, c.pad_end};
  op.output_padding = {c.output_padding, c.output_padding};
  std::vector<ValueId> inputs{x, b.graph.add_constant("w", std::move(weight)),
                              b.graph.add_constant("bias", std::move(bias))};
  if (slope) {
    op.epilogue.prelu_slope = true;
    inputs.push_back(b.graph.add_constant("slope", std::move(slopes)));
  } else {
    op.epilogue.activation.kind = UnaryKind::relu;
  }
  b.output(b.node("y", op, inputs));
  return b.graph;
}

TEST(Subpixel, ComputesTheSame) {
  for (const Case& c : {Case{4, 2, 1, 1, 0, 3, 1}, Case{5, 2, 2, 2, 1, 4, 2}, Case{5, 2, 1, 2, 0, 4, 1},
                        Case{9, 3, 4, 2, 0, 2, 1}, Case{8, 4, 2, 2, 0, 3, 1}, Case{6, 2, 2, 2, 0, 3, 4}})
    for (const bool slope : {false, true}) {
      const Graph before = transposed(c, slope);
      Graph after = before;
      EXPECT_TRUE(rewrite::subpixel(after)) << c.kernel << " by " << c.stride;
      remove_dead(after);
      verify(after);
      EXPECT_EQ(count_of<ConvTranspose>(after), 0);
      EXPECT_EQ(count_of<DepthToSpace>(after), 1);
      expect_same_results(before, after, 3);
    }
}

TEST(Subpixel, LeavesWhatWouldNotGain) {
  for (const Case& c : {Case{4, 2, 1, 1, 0, 3, 64},  // panels are full already
                        Case{3, 2, 1, 1, 0, 3, 1},   // the output is no whole number of blocks
                        Case{2, 2, 0, 0, 0, 3, 16}}) {
    Graph graph = transposed(c, false);
    EXPECT_FALSE(rewrite::subpixel(graph)) << c.kernel << " by " << c.stride << ", " << c.outputs;
  }
}

/// Channels last, of any number of axes; a window as wide as its stride.
Graph apart(const Shape& x, const Shape& weight, std::int64_t groups, std::int64_t stride, bool computed = false) {
  Builder b;
  const auto axes = x.size() - 2;
  ConvTranspose op;
  op.kernel.assign(weight.begin() + 2, weight.end());
  op.strides.assign(axes, stride);
  op.dilations.assign(axes, 1);
  op.pads.assign(2 * axes, 0);
  op.output_padding.assign(axes, 0);
  op.groups = groups;
  op.epilogue.activation.kind = UnaryKind::relu;
  const ValueId bias = b.weights("bias", {weight[1] * groups});
  const ValueId w = computed ? b.input("w", weight) : b.weights("w", weight);
  b.output(b.node("y", op, {b.input("x", x), w, bias}));
  return b.graph;
}

TEST(WindowsApart, AreProducts) {
  for (const auto& [before, op] : {std::pair{apart({2, 9, 4}, {4, 1, 3}, 4, 3), "Mul"},
                                   std::pair{apart({1, 3, 4, 5, 6}, {6, 1, 2, 2, 2}, 6, 2), "Mul"},
                                   std::pair{apart({2, 3, 4, 5, 6}, {6, 5, 2, 2, 2}, 1, 2), "MatMul"},
                                   std::pair{apart({2, 4, 5, 6}, {6, 5, 2, 2}, 1, 2, true), "MatMul"},
                                   std::pair{apart({2, 4, 5, 6}, {6, 1, 2, 2}, 6, 2, true), "Mul"}}) {
    Graph after = before;
    EXPECT_TRUE(rewrite::windows_apart(after));
    remove_dead(after);
    verify(after);
    EXPECT_EQ(count_of<ConvTranspose>(after), 0);
    EXPECT_NE(operators_of(after).find(op), std::string::npos);
    expect_same_results(before, after, 3, 1e-5);
  }
}

TEST(WindowsApart, LeavesThoseThatOverlap) {
  Graph overlaps = apart({1, 5, 6, 7, 3}, {3, 1, 3, 3, 3}, 3, 2), plane = apart({1, 5, 6, 7}, {7, 4, 2, 2}, 1, 2);
  EXPECT_FALSE(rewrite::windows_apart(overlaps));
  EXPECT_FALSE(rewrite::windows_apart(plane));
}

}  // namespace
}  // namespace colonnade::test
