// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "passes/pass_list.hpp"

namespace colonnade {
namespace {

TEST(FlushDenormals, ZeroesTinyWeightsAndLeavesTheRest) {
  Graph graph;
  graph.inputs = {graph.add_value("x", {DType::f32, Shape{1, 2}})};
  Tensor weight(DType::f32, {2, 2});
  const float tiny = 1e-40f, values[] = {1.0f, tiny, -tiny, 1.2e-38f};
  std::copy(std::begin(values), std::end(values), weight.values<float>().begin());
  const ValueId constant = graph.add_constant("w", std::move(weight));
  const auto before = graph.value(constant).constant;
  graph.outputs = {graph.add_value("y", {DType::f32, Shape{1, 2}})};
  graph.nodes.push_back({MatMul{}, {graph.inputs[0], constant}, {graph.outputs[0]}, "matmul", "MatMul"});

  EXPECT_TRUE(rewrite::flush_denormals(graph));
  const auto flushed = graph.value(constant).constant->tensor();
  const auto after = flushed->values<float>();
  EXPECT_EQ(std::vector<float>(after.begin(), after.end()), (std::vector<float>{1.0f, 0.0f, 0.0f, 1.2e-38f}));
  EXPECT_EQ(before->tensor()->values<float>()[1], tiny);
  EXPECT_FALSE(rewrite::flush_denormals(graph));
}

}  // namespace
}  // namespace colonnade
