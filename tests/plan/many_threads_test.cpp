// SPDX-License-Identifier: Apache-2.0
// Plans for more threads than images have rows to give.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "plan/plan.hpp"
#include "support/execute.hpp"
#include "support/known_networks.hpp"

namespace colonnade::test {
namespace {

Plan plan_for(const Graph& graph, Schedule schedule, int threads) {
  Topology topology = fixed_topology("server-16");
  topology.rates.team_us = 0;
  topology.rates.barrier_us = 0.1;
  const Plan plan = make_plan(graph, topology, {schedule, Math::fast, threads, 0});
  verify(plan, graph);
  return plan;
}

/// Whether a list waits for rows of a node before it has announced any that the list above may wait for.
bool waits_first(const std::vector<Step>& steps) {
  std::set<NodeIndex> awaited, announced;
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::wait && !announced.contains(step.node)) awaited.insert(step.node);
    if (!step.publish) continue;
    if (awaited.contains(step.node)) return true;
    announced.insert(step.node);
  }
  return false;
}

TEST(ManyThreads, BandsDoNotWaitForEachOtherOneAfterAnother) {
  Network net("two blocks");
  const ValueId x = net.input({1, 56, 56, 24});
  const Graph graph = net.finish(inverted_residual(net, inverted_residual(net, x, 144), 144));
  bool has_groups = false;
  for (const int threads : {3, 8, 14, 16})
    for (const SegmentPlan& segment : plan_for(graph, Schedule::columns, threads).segments) {
      if (segment.steps.size() < 3 || segment.sharing != Sharing::bands) continue;
      has_groups |= !segment.chunk_groups.empty();
      for (const auto& steps : segment.steps) EXPECT_FALSE(waits_first(steps)) << threads;
    }
  EXPECT_TRUE(has_groups);
}

TEST(ManyThreads, AsManyBandsAsThereAreRows) {
  Network net("rows");
  const Graph graph = net.finish(net.depthwise(net.input({1, 14, 14, 512})));
  for (const int threads : {14, 15, 16}) {
    const Plan plan = plan_for(graph, Schedule::layers, threads);
    EXPECT_EQ(plan.segments.front().steps.size(), 14u) << threads << to_text(plan, graph);
  }
}

/// Fourteen rows in tiles, and eight panels of channels.
TEST(ManyThreads, DivideRowsAndChannelsTogether) {
  Network net("tiles");
  const Graph graph = net.finish(net.conv(net.input({1, 14, 14, 128}), 128));
  const Plan plan = plan_for(graph, Schedule::layers, 16);
  const SegmentPlan& segment = plan.segments.front();
  ASSERT_EQ(segment.sharing, Sharing::channels) << to_text(plan, graph);
  EXPECT_GE(plan.choices[NodeIndex{0}].granularity, 2);
  EXPECT_GT(segment.steps.size(), 8u);
  std::map<std::int32_t, std::int64_t> rows;
  for (const auto& steps : segment.steps)
    for (const Step& step : steps) rows[step.chunk] += step.row_end - step.row_begin;
  EXPECT_GT(rows.size(), 1u);
  EXPECT_LT(rows.size(), segment.steps.size()) << "rows are divided too";
  for (const auto& [chunk, count] : rows) EXPECT_EQ(count, 14) << chunk;
}

/// Seven rows, and sixty panels of channels.
TEST(ManyThreads, DivideTheChannelsOfDepthwiseLayers) {
  Network net("depthwise");
  const Graph graph = net.finish(net.depthwise(net.input({1, 7, 7, 952}), {.activation = UnaryKind::relu}));
  Topology topology = topology_of(kernels::usable_features(), "server-16");
  topology.rates.team_us = 0;
  topology.rates.barrier_us = 0.1;
  const std::vector<Tensor> inputs = random_inputs(graph, 3);
  std::vector<Tensor> alone;
  for (const int threads : {1, 16, 64}) {
    const Plan plan = make_plan(graph, topology, {Schedule::layers, Math::fast, threads, 0});
    verify(plan, graph);
    EXPECT_EQ(plan.segments.front().sharing, threads == 1 ? Sharing::single : Sharing::channels) << threads;
    WeightStore weights;
    Executor executor(compile(graph, plan, topology.features, weights));
    const std::vector<Tensor> outputs = run(executor, inputs);
    if (alone.empty()) alone = outputs;
    EXPECT_TRUE(same_bits(outputs, alone)) << threads;
  }
}

/// A decoder's token: what a call takes besides its pixels is divided with the outputs.
TEST(ManyThreads, DivideTheOutputsOfOneRowOfBytes) {
  Network net("a row of bytes");
  const ValueId x = net.input({1, 768}, DType::u8);
  const ValueId weight = net.graph().add_constant("w", Tensor(DType::i8, {768, 3072}));
  const Graph graph = net.finish(net.node(ByteMatMul{{.to = DType::i32}}, {x, weight}));
  std::vector<double> predicted;
  for (const int threads : {1, 2, 4}) {
    const Plan plan = plan_for(graph, Schedule::layers, threads);
    EXPECT_EQ(plan.segments.front().sharing, threads == 1 ? Sharing::single : Sharing::channels) << threads;
    predicted.push_back(plan.segments.front().predicted_us * threads);
  }
  EXPECT_NEAR(predicted[1] / predicted[0], 1, 0.2);
  EXPECT_NEAR(predicted[2] / predicted[0], 1, 0.2);
}

TEST(ManyThreads, ABarrierOfFewTakesLessThanOneOfAll) {
  const Graph graph = inverted_residual(14, 14);
  const auto predicted = [&](double total_threads) {
    Topology topology = fixed_topology("server-16");
    topology.rates.team_us = 0;
    topology.rates.barrier_us = 1;
    topology.rates.total_threads = total_threads;
    const Plan plan = make_plan(graph, topology, {Schedule::layers, Math::fast, 4, 0});
    double sum = 0;
    for (const SegmentPlan& segment : plan.segments) sum += segment.predicted_us;
    return sum;
  };
  EXPECT_NEAR(predicted(4) - predicted(16), 3 * 0.6, 0.01) << "three layers; 4 of 16 pass a line 4 times instead of 10";
}

}  // namespace
}  // namespace colonnade::test
