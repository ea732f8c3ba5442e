// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graph/opaque.hpp"
#include "graph/windows.hpp"
#include "passes/graphs.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::test {
namespace {

struct Windows {
  Ints kernel, strides, dilations, pads, output_padding;
  std::int64_t groups = 1;
  bool computed = false;
  bool slope = false, residual = false, residual_after = false;
};

/// Channels last: 6 channels become 4.
Graph transposed_windows(const Windows& w) {
  Builder b;
  Shape x{2}, weight{6, 4 / w.groups};
  for (std::size_t axis = 0; axis < w.kernel.size(); ++axis) x.push_back(3 + static_cast<std::int64_t>(axis));
  x.push_back(6);
  weight.insert(weight.end(), w.kernel.begin(), w.kernel.end());
  ConvTranspose op{w.kernel, w.strides, w.dilations, w.pads, w.output_padding, {}, w.groups, AutoPad::explicit_pads,
                   {}};
  if (!w.slope) op.epilogue.activation.kind = UnaryKind::relu;
  op.epilogue.prelu_slope = w.slope, op.epilogue.residual = w.residual, op.epilogue.residual_after = w.residual_after;
  const ValueId weights = w.computed ? b.input("w", weight) : b.weights("w", weight);
  std::vector<ValueId> inputs{b.input("x", x), weights, b.weights("bias", {4})};
  if (w.slope) inputs.push_back(b.weights("slope", {4}));
  if (w.residual) {
    Shape out{2};
    const std::vector<WindowAxis> axes = window_axes(op, std::span(x).subspan(1, w.kernel.size()));
    for (std::size_t i = 0; i < axes.size(); ++i)
      out.push_back((x[i + 1] - 1) * axes[i].stride + axes[i].extent() + w.output_padding[i] - axes[i].pad_begin -
                    axes[i].pad_end);
    out.push_back(4);
    inputs.push_back(b.input("r", out));
  }
  b.output(b.node("y", op, inputs));
  return b.graph;
}

int sums_of(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes) {
    const auto* op = std::get_if<Opaque>(&node.op);
    count += op != nullptr && op->definition->name == "Col2Im" ? 1 : 0;
  }
  return count;
}

TEST(WindowsSummed, ComputesTheSame) {
  const Ints ones3{1, 1, 1}, none3{0, 0, 0};
  for (const std::int64_t groups : {1, 2})
    for (const Windows& w : {Windows{{3, 3, 3}, {2, 2, 2}, ones3, {1, 1, 1, 1, 1, 1}, none3, groups},
                             Windows{{3, 2, 4}, {2, 1, 3}, {1, 2, 1}, {0, 1, 2, 1, 0, 0}, {1, 0, 2}, groups},
                             Windows{{3, 3}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, groups},
                             Windows{{2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}, groups, true},
                             Windows{{5, 3}, {1, 2}, {1, 1}, {2, 1, 1, 0}, {0, 0}, groups, true}}) {
      const Graph before = transposed_windows(w);
      Graph after = before;
      EXPECT_TRUE(rewrite::windows_summed(after));
      remove_dead(after);
      verify(after);
      EXPECT_EQ(count_of<ConvTranspose>(after), 0);
      EXPECT_EQ(sums_of(after), 1);
      expect_same_results(before, after, 3);
    }
}

TEST(WindowsSummed, KeepsWhatWasFused) {
  for (const bool slope : {false, true})
    for (const bool residual : {false, true})
      for (const bool after : {false, true}) {
        Windows windows{{3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}, {0, 0, 0}};
        windows.slope = slope, windows.residual = residual, windows.residual_after = residual && after;
        const Graph before = transposed_windows(windows);
        Graph after_it = before;
        EXPECT_TRUE(rewrite::windows_summed(after_it));
        remove_dead(after_it);
        expect_same_results(before, after_it, 3);
      }
}

TEST(WindowsSummed, LeavesWhatHasAKernel) {
  Graph graph = transposed_windows({{3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {0, 0}});
  EXPECT_FALSE(rewrite::windows_summed(graph));
}

}  // namespace
}  // namespace colonnade::test
