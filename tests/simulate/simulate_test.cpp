// SPDX-License-Identifier: Apache-2.0
// The simulator beside what can be computed by hand.
#include "simulate/simulate.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "support/known_networks.hpp"

namespace colonnade::test {
namespace {

using simulation::Bytes;
using simulation::Demand;
using simulation::simulate;
using simulation::Simulated;
using simulation::Speeds;
using simulation::Times;

Topology machine(int cores = 4) {
  Topology topology = fixed_topology("server-16");
  topology.cores.resize(static_cast<std::size_t>(cores));
  topology.nodes.resize(1);
  topology.rates.total_threads = cores;
  return topology;
}

Plan plan_of(const Graph& graph, const Topology& topology, int threads) {
  PlanOptions options;
  options.threads = threads;
  return make_plan(graph, topology, options);
}

double predicted_us(const Plan& plan) {
  return std::accumulate(plan.segments.begin(), plan.segments.end(), 0.0,
                         [](double sum, const SegmentPlan& segment) { return sum + segment.predicted_us; });
}

double sum_of(const Times& times, int threads, double seconds) { return times.sum() / (threads * seconds); }

TEST(Simulate, OneThreadTakesWhatThePlannerCharges) {
  for (const Graph& graph : {six_layers(270, 480, 16), inverted_residual(56, 56), residual_stage(), residual_stage(4),
                             dense_block(), encoder_decoder()}) {
    const Topology topology = fixed_topology("zen4-2");
    const Plan plan = plan_of(graph, topology, 1);
    const Simulated simulated = simulate(graph, topology, plan);
    EXPECT_NEAR(1e6 * simulated.seconds, predicted_us(plan), 0.03 * predicted_us(plan)) << graph.name;
    EXPECT_EQ(simulated.times.rows + simulated.times.imbalance + simulated.times.idle + simulated.times.barriers, 0);
    EXPECT_NEAR(sum_of(simulated.times, 1, simulated.seconds), 1, 1e-9);
  }
}

TEST(Simulate, EveryThreadsTimeGoesSomewhere) {
  for (const int threads : {2, 3, 4}) {
    const Graph graph = encoder_decoder();
    const Plan plan = plan_of(graph, machine(), threads);
    const Simulated simulated = simulate(graph, machine(), plan, true);
    ASSERT_EQ(plan.threads, threads);
    EXPECT_NEAR(sum_of(simulated.times, threads, simulated.seconds), 1, 1e-9);
    ASSERT_EQ(std::ssize(simulated.steps), threads);
    for (const auto& steps : simulated.steps)
      for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_GE(steps[i].begin, steps[i - 1].end);
  }
}

/// One node in bands of `rows` each, by hand.
Plan by_hand(const Graph& graph, const Topology& topology, const std::vector<Interval>& bands) {
  Plan plan = plan_of(graph, topology, 1);
  plan.threads = static_cast<int>(bands.size());
  SegmentPlan& segment = plan.segments.front();
  segment.sharing = Sharing::bands;
  segment.steps.clear();
  for (const Interval& band : bands) segment.steps.push_back({Step::run_rows(NodeIndex{0}, band)});
  return plan;
}

Graph one_layer(std::int64_t rows = 16) {
  Network net("one layer");
  return net.finish(net.conv(net.input({1, rows, 32, 16}), 16));
}

TEST(Simulate, ABarrierWaitsForItsSlowest) {
  const Graph graph = one_layer();
  const Topology topology = machine();
  const Simulated even = simulate(graph, topology, by_hand(graph, topology, {{0, 8}, {8, 16}}));
  const Simulated uneven = simulate(graph, topology, by_hand(graph, topology, {{0, 4}, {4, 16}}));
  const double step = topology.rates.step_us * 1e-6, line = topology.rates.barrier_us * 1e-6 / 4;
  const double row = even.times.arithmetic / 16;
  // both count themselves after the slower one's rows: the one that came first is counted already
  EXPECT_NEAR(uneven.seconds, step + 12 * row + line, 1e-12);
  EXPECT_NEAR(even.seconds, step + 8 * row + 2 * line, 1e-12);
  EXPECT_NEAR(even.times.imbalance, 0, 1e-15);
  EXPECT_NEAR(uneven.times.imbalance, 8 * row, 1e-12);
  EXPECT_NEAR(uneven.times.barriers, 2 * line, 1e-15);
}

TEST(Simulate, WhoHasNoListIsIdle) {
  const Graph graph = one_layer();
  Plan plan = by_hand(graph, machine(), {{0, 8}, {8, 16}});
  plan.threads = 4;
  const Simulated simulated = simulate(graph, machine(), plan);
  const double line = machine().rates.barrier_us * 1e-6 / 4;
  EXPECT_NEAR(simulated.times.idle, 2 * (simulated.seconds - 2 * line), 1e-12);
}

TEST(Simulate, RowsThatAnotherBandMakesAreWaitedFor) {
  const Graph graph = one_layer();
  const Topology topology = machine();
  Plan plan = by_hand(graph, topology, {{0, 4}, {4, 12}});
  auto& steps = plan.segments.front().steps;
  steps[0] = {Step::wait_for(NodeIndex{0}, 12), Step::run_rows(NodeIndex{0}, {0, 4})};
  steps[1].front().publish = true;
  const Simulated simulated = simulate(graph, topology, plan, true);
  const double line = topology.rates.barrier_us * 1e-6 / 4;
  ASSERT_EQ(simulated.steps[0].size(), 1U);
  EXPECT_NEAR(simulated.steps[0][0].begin, simulated.steps[1][0].end + line, 1e-15);
  EXPECT_NEAR(simulated.times.rows, simulated.steps[0][0].begin, 1e-15);
  steps[1].front().publish = false;
  EXPECT_THROW(simulate(graph, topology, plan), Error);
}

TEST(Simulate, MemoryIsSharedByItsReaders) {
  Topology topology = machine(4);
  topology.rates.dram_total_gbs = 2 * topology.rates.dram_gbs;
  const Speeds speeds(topology, 4);
  EXPECT_NEAR(speeds.dram_capacity, 2e9 * topology.rates.dram_gbs, 1);
  Demand demand;
  demand.met = {.l3 = 0, .dram = 1e6};
  const double alone = seconds_of(demand, speeds, {});
  EXPECT_NEAR(alone, 1e6 * (speeds.dram - speeds.l2), 1e-12);
  // a byte that takes twice as long from memory is not read twice from L2
  EXPECT_NEAR(seconds_of(demand, speeds, {.dram = 2}), 1e6 * (2 * speeds.dram - speeds.l2), 1e-12);
  demand.met = {};
  demand.streamed = {.dram = 1e6};
  demand.arithmetic = 10;
  EXPECT_NEAR(seconds_of(demand, speeds, {}), 10 + 0.3 * 1e6 * (speeds.dram - speeds.l2), 1e-12);
}

/// All that threads do together when each reads a megabyte from memory.
double seconds_of_readers(int threads, double total_gbs) {
  Topology topology = machine(8);
  topology.caches.pop_back();  // no L3
  topology.caches.back().bytes = 1024;
  topology.rates.dram_total_gbs = total_gbs;
  topology.rates.l2_gbs = 1e6;
  topology.rates.barrier_us = 1e-6;
  topology.rates.step_us = 1e-6;
  for (auto& points : topology.rates.work)
    for (WorkRate& rate : points) rate.giga_units = 1e9;
  Network net("copy");
  const Graph graph = net.finish(net.relu(net.input({1, 8 * threads, 256, 256})));
  std::vector<Interval> bands;
  for (int thread = 0; thread < threads; ++thread) bands.push_back({8 * thread, 8 * thread + 8});
  return simulate(graph, topology, by_hand(graph, topology, bands)).seconds;
}

TEST(Simulate, AMemoryGivesItsReadersNoMoreThanItHas) {
  const double alone = seconds_of_readers(1, 1000);
  EXPECT_NEAR(seconds_of_readers(8, 1000), alone, 1e-3 * alone);
  const double one = machine().rates.dram_gbs;
  EXPECT_NEAR(seconds_of_readers(8, 4 * one), 2 * alone, 0.02 * alone);
  EXPECT_NEAR(seconds_of_readers(2, 4 * one), alone, 1e-3 * alone);
}

/// Bands read the same weights, shares of channels each its own.
TEST(Simulate, WeightsThatThreadsReadTogetherComeOnce) {
  const Speeds speeds(machine(4), 4);
  Demand demand;
  demand.weights = {.l3 = 10, .dram = 100};
  demand.readers = 1;
  EXPECT_EQ(shared_bytes(demand, speeds).dram, 100);
  demand.readers = 2;
  EXPECT_EQ(shared_bytes(demand, speeds).dram, 50);
  demand.readers = 8;
  EXPECT_EQ(shared_bytes(demand, speeds).dram, 25) << "no more than there are below an L3 cache";
  EXPECT_EQ(shared_bytes(demand, speeds).l3, 10) << "each reads them there";
}

/// A product of one row whose weights are all its time: two threads that take channels have one memory.
TEST(Simulate, SharesOfChannelsDivideMemory) {
  Network net("product");
  const Graph graph = net.finish(net.conv(net.input({1, 1, 1, 4096}), 4096, {.kernel = 1}));
  Topology topology = machine(2);
  topology.rates.team_us = 0;
  const auto seconds = [&](double total_gbs) {
    topology.rates.dram_total_gbs = total_gbs;
    const Plan plan = plan_of(graph, topology, 2);
    EXPECT_EQ(plan.segments.front().sharing, Sharing::channels);
    return simulate(graph, topology, plan).seconds;
  };
  const double one = topology.rates.dram_gbs;
  EXPECT_GT(seconds(one), 1.7 * seconds(2 * one));
}

}  // namespace
}  // namespace colonnade::test
