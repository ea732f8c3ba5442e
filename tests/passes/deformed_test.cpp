// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "passes/graphs.hpp"
#include "passes/pass_list.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/sliding.hpp"

namespace colonnade::test {
namespace {

struct Deformed {
  Shape x;
  std::int64_t outputs;
  Ints kernel, strides, dilations, pads;
  std::int64_t groups, offset_groups;
  bool bias, mask;
};

Graph deformed(const Deformed& c) {
  Builder b;
  Attributes attributes{{"strides", c.strides},
                        {"dilations", c.dilations},
                        {"pads", c.pads},
                        {"group", c.groups},
                        {"offset_group", c.offset_groups}};
  const Operator op = make_opaque(reference::kDeformConv, 19, attributes);
  const reference::Sliding window = reference::sliding(std::get<Opaque>(op), c.kernel);
  const std::int64_t height = window.positions(0, c.x[2]), width = window.positions(1, c.x[3]);
  const std::int64_t masks = c.offset_groups * c.kernel[0] * c.kernel[1];
  std::vector<ValueId> inputs{b.input("x", c.x),
                              b.weights("w", {c.outputs, c.x[1] / c.groups, c.kernel[0], c.kernel[1]}),
                              b.input("offset", {c.x[0], 2 * masks, height, width}), kAbsent, kAbsent};
  if (c.bias) inputs[3] = b.weights("bias", {c.outputs});
  if (c.mask) inputs[4] = b.input("mask", {c.x[0], masks, height, width});
  b.output(b.node("y", op, inputs));
  return b.graph;
}

TEST(Deformed, BecomesSamplesAndAProduct) {
  for (const Deformed& c : {Deformed{{1, 4, 9, 7}, 6, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1, 1, true, true},
                            Deformed{{2, 6, 8, 9}, 4, {3, 2}, {2, 1}, {1, 2}, {0, 1, 2, 0}, 1, 2, false, true},
                            Deformed{{2, 6, 8, 9}, 4, {2, 2}, {1, 2}, {1, 1}, {0, 0, 0, 0}, 2, 3, true, false},
                            Deformed{{1, 2, 1, 5}, 2, {1, 3}, {1, 1}, {1, 1}, {0, 1, 0, 1}, 2, 1, false, false}}) {
    const Graph before = deformed(c);
    Graph after = before;
    EXPECT_TRUE(rewrite::expand_deformed(after));
    remove_dead(after);
    verify(after);
    EXPECT_EQ(count_of<GridSample>(after), 1);
    EXPECT_EQ(count_of<MatMul>(after), 1);
    EXPECT_EQ(count_of<Opaque>(after), 0);
    expect_same_results(before, after, 3);
  }
}

TEST(Deformed, WaitsForSizes) {
  Graph graph = deformed({{1, 4, 9, 7}, 6, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1, 1, true, true});
  graph.value(graph.inputs[0]).type.shape = Shape{1, 4, -1, 7};
  EXPECT_FALSE(rewrite::expand_deformed(graph));
}

}  // namespace
}  // namespace colonnade::test
