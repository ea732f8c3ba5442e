// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "passes/graphs.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::test {
namespace {

struct Volume {
  Shape x;
  std::int64_t outputs;
  Ints kernel, strides, dilations, pads;
  std::int64_t groups = 1;
  AutoPad auto_pad = AutoPad::explicit_pads;
  bool residual = false;
};

Graph convolution(const Volume& v) {
  Builder b;
  Conv conv{v.kernel, v.strides, v.dilations, v.pads, v.groups, v.auto_pad, false, {}};
  conv.epilogue.activation = {UnaryKind::silu};
  Shape weight{v.outputs, v.x.back() / v.groups};
  weight.insert(weight.end(), v.kernel.begin(), v.kernel.end());
  const ValueId x = b.input("x", v.x), w = b.weights("w", weight), bias = b.weights("bias", {v.outputs});
  if (!v.residual) {
    b.output(b.node("y", conv, {x, w, bias}));
    return b.graph;
  }
  const Shape shape = b.shape(b.node("shape", conv, {x, w, bias}));
  conv.epilogue.residual = true;
  b.output(b.node("y", conv, {x, w, bias, b.input("residual", shape)}));
  return b.graph;
}

TEST(Volumes, OfFlatWindowsAreImages) {
  for (const Volume& v :
       {Volume{{1, 3, 9, 7, 4}, 6, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}},
        Volume{{2, 3, 9, 7, 4}, 6, {1, 3, 2}, {1, 2, 1}, {1, 1, 2}, {0, 0, 1, 0, 2, 1}},
        Volume{{2, 5, 4, 3, 4}, 6, {3, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 0, 0, 1, 0, 0}},
        Volume{{2, 9, 4, 3, 4}, 8, {3, 1, 1}, {2, 1, 1}, {2, 1, 1}, {0, 0, 0, 2, 0, 0}, 2},
        Volume{{2, 5, 4, 3, 4}, 4, {5, 1, 1}, {1, 1, 1}, {1, 1, 1}, {2, 0, 0, 2, 0, 0}, 4},
        Volume{{2, 2, 5, 3, 4}, 6, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
        Volume{{1, 2, 6, 5, 4}, 6, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {}, 1, AutoPad::same_upper},
        Volume{
            {2, 3, 9, 7, 4}, 6, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}, 1, AutoPad::explicit_pads, true},
        Volume{{2, 5, 4, 3, 4},
               6,
               {3, 1, 1},
               {1, 1, 1},
               {1, 1, 1},
               {1, 0, 0, 1, 0, 0},
               1,
               AutoPad::explicit_pads,
               true}}) {
    const Graph before = convolution(v);
    Graph after = before;
    EXPECT_TRUE(rewrite::flatten_volumes(after));
    remove_dead(after);
    verify(after);
    for (const Node& node : after.nodes)
      if (const auto* conv = std::get_if<Conv>(&node.op)) {
        EXPECT_EQ(conv->kernel.size(), 2u);
      }
    expect_same_results(before, after, 3, 0);
    EXPECT_FALSE(rewrite::flatten_volumes(after));
  }
}

TEST(Volumes, OfOtherWindowsStay) {
  for (const Volume& v : {Volume{{1, 3, 9, 7, 4}, 6, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}},
                          Volume{{1, 3, 9, 7, 4}, 6, {1, 3, 3}, {2, 1, 1}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}},
                          Volume{{1, 3, 9, 7, 4}, 6, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1, 0, 1, 1}},
                          Volume{{1, 3, 9, 7, 4}, 6, {3, 1, 1}, {1, 1, 2}, {1, 1, 1}, {1, 0, 0, 1, 0, 0}},
                          Volume{{1, 3, 9, 7, 4}, 6, {3, 3, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 0, 1, 1, 0}}}) {
    Graph graph = convolution(v);
    EXPECT_FALSE(rewrite::flatten_volumes(graph));
  }
}

TEST(Volumes, OfNothingStay) {
  for (const Shape& x : {Shape{0, 3, 9, 7, 4}, Shape{2, 0, 9, 7, 4}}) {
    Graph graph = convolution({x, 6, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}});
    EXPECT_FALSE(rewrite::flatten_volumes(graph));
  }
}

TEST(Volumes, OfComputedWeightsOrOpenSizesStay) {
  Graph graph = convolution({{1, 3, 9, 7, 4}, 6, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}});
  Graph open = graph;
  open.value(open.inputs[0]).type.shape = Shape{-1, 3, 9, 7, 4};
  open.value(open.outputs[0]).type.shape = Shape{-1, 3, 9, 7, 6};
  EXPECT_FALSE(rewrite::flatten_volumes(open));
  const ValueId weights = graph.nodes[0].inputs[1];
  graph.value(weights).constant = nullptr;
  graph.inputs.push_back(weights);
  EXPECT_FALSE(rewrite::flatten_volumes(graph));
}

}  // namespace
}  // namespace colonnade::test
