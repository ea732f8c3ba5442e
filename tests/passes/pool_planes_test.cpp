// SPDX-License-Identifier: Apache-2.0
// Planes are pooled where they lie when channels would be made last for that alone.
#include <gtest/gtest.h>

#include "passes/graphs.hpp"
#include "passes/passes.hpp"

namespace colonnade::test {
namespace {

Pool pool_of(PoolKind kind, std::size_t axes) {
  Pool pool{kind, Ints(axes, 3), Ints(axes, 2), Ints(axes, 1), Ints(2 * axes, 1)};
  pool.kernel[0] = 2;
  pool.pads[0] = 0;
  return pool;
}

Graph pooled_planes(Builder& b) {
  Graph graph = b.graph;
  PassOptions options;
  options.verify = true;
  optimize(graph, options);
  expect_same_results(b.graph, graph, 7);
  return graph;
}

template <class Op>
std::ptrdiff_t nodes_left(const Graph& graph) {
  return std::ranges::count_if(graph.nodes, [](const Node& node) { return std::holds_alternative<Op>(node.op); });
}

TEST(PoolPlanes, OfEveryRank) {
  const std::pair<Shape, Ints> cases[] = {
      {{2, 5, 40}, {0, 2, 1}}, {{2, 5, 12, 40}, {0, 2, 3, 1}}, {{2, 5, 6, 12, 40}, {0, 2, 3, 4, 1}}};
  for (const PoolKind kind : {PoolKind::max, PoolKind::average})
    for (const auto& [shape, perm] : cases) {
      Builder b;
      Ints back(perm.size());
      for (std::size_t i = 0; i < perm.size(); ++i)
        back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
      const ValueId last = b.transpose("last", b.input("x", shape), perm);
      b.output(b.transpose("first", b.node("pool", pool_of(kind, perm.size() - 2), {last}), back));
      const Graph graph = pooled_planes(b);
      EXPECT_EQ(nodes_left<Transpose>(graph), 0) << to_text(graph);
      EXPECT_EQ(nodes_left<Pool>(graph), 1);
    }
}

TEST(PoolPlanes, NotBesideConvolutionsNorOfShortRows) {
  Builder conv;
  const ValueId made = conv.conv("conv", conv.input("x", {1, 4, 19, 19}), 6, 3);
  conv.output(conv.to_first("out", conv.node("pool", pool_of(PoolKind::max, 2), {conv.to_last("in", made)})));
  EXPECT_EQ(nodes_left<Transpose>(pooled_planes(conv)), 2);  // before the convolution and behind the pooling
  Builder narrow;
  const ValueId last = narrow.to_last("in", narrow.input("x", {1, 64, 40, 70}));
  narrow.output(narrow.to_first("out", narrow.node("pool", pool_of(PoolKind::max, 2), {last})));
  EXPECT_EQ(nodes_left<Transpose>(pooled_planes(narrow)), 2);
}

}  // namespace
}  // namespace colonnade::test
