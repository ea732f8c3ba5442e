// SPDX-License-Identifier: Apache-2.0
// Maxima are taken before functions that never fall.
#include <gtest/gtest.h>

#include "passes/graphs.hpp"
#include "passes/passes.hpp"

namespace colonnade::test {
namespace {

/// [1, 4, 9, 9] through a convolution, a function and a pooling, optimised; the results stay the same.
Graph pooled(UnaryKind kind, float a, const Pool& pool, bool read_twice = false) {
  Builder b;
  const ValueId f = b.unary("f", kind, b.conv("conv", b.input("x", {1, 4, 9, 9}), 6, 3), a);
  b.output(b.to_first("out", b.node("pool", pool, {b.to_last("in", f)})));
  if (read_twice) b.output(f);
  Graph graph = b.graph;
  PassOptions options;
  options.verify = true;
  optimize(graph, options);
  expect_same_results(b.graph, graph, 7);
  return graph;
}

Pool pool_of(PoolKind kind, std::int64_t stride, std::int64_t pad) {
  Pool pool;
  pool.kind = kind;
  pool.kernel = {3, 3};
  pool.strides = {stride, stride};
  pool.dilations = {1, 1};
  pool.pads = {pad, pad, pad, pad};
  return pool;
}

bool pools_first(const Graph& graph) {
  std::size_t pool = 0, function = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (std::holds_alternative<Pool>(graph.nodes[i].op)) pool = i;
    if (std::holds_alternative<Unary>(graph.nodes[i].op)) function = i;
  }
  return pool < function;
}

TEST(PoolFirst, FunctionsThatNeverFallWait) {
  for (const UnaryKind kind :
       {UnaryKind::tanh, UnaryKind::sigmoid, UnaryKind::softplus, UnaryKind::exp, UnaryKind::erf})
    for (const std::int64_t pad : {0, 1})
      EXPECT_TRUE(pools_first(pooled(kind, 0, pool_of(PoolKind::max, 2, pad)))) << name_of(kind) << pad;
  EXPECT_TRUE(pools_first(pooled(UnaryKind::elu, 0.5f, pool_of(PoolKind::max, 2, 1))));
}

TEST(PoolFirst, OthersStay) {
  const Pool max = pool_of(PoolKind::max, 2, 1);
  EXPECT_FALSE(pools_first(pooled(UnaryKind::elu, -0.5f, max)));     // falls
  EXPECT_FALSE(pools_first(pooled(UnaryKind::silu, 0, max)));        // falls, then rises
  EXPECT_FALSE(pools_first(pooled(UnaryKind::tanh, 0, max, true)));  // its own values are asked for
  EXPECT_FALSE(pools_first(pooled(UnaryKind::tanh, 0, pool_of(PoolKind::average, 2, 1))));
  EXPECT_FALSE(pools_first(pooled(UnaryKind::tanh, 0, pool_of(PoolKind::max, 1, 1))));  // as many are left
}

}  // namespace
}  // namespace colonnade::test
