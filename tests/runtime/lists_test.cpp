// SPDX-License-Identifier: Apache-2.0
// Plans for more threads than this machine has: the lists of all of them, run by few, give one thread's bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "support/execute.hpp"
#include "support/random_network.hpp"

namespace colonnade::test {
namespace {

/// Four times as many cores and nodes as the fixed server.
Topology large_server() {
  Topology topology = fixed_topology("server-16");
  const Topology one = topology;
  for (int copy = 1; copy < 4; ++copy)
    for (Core core : one.cores) {
      core.os_processor += copy * static_cast<int>(one.cores.size());
      core.numa_node += copy * static_cast<int>(one.nodes.size());
      core.l3_domain += copy * (one.cores.back().l3_domain + 1);
      topology.cores.push_back(core);
    }
  for (int node = 2; node < 8; ++node) topology.nodes.push_back({.number = node});
  topology.rates.l3_total_gbs *= 4;
  topology.rates.dram_total_gbs *= 4;
  topology.rates.total_threads *= 4;
  topology.features = kernels::usable_features();
  topology.blocking = known_blocking().name;
  return topology;
}

/// Small images, more of them than there are threads.
Graph many_images() {
  Network net("many images");
  ValueId x = net.input({130, 9, 10, 8});
  for (int i = 0; i < 3; ++i) x = net.conv(x, 8, {.activation = UnaryKind::relu, .residual = x});
  return net.finish(net.global_mean(x));
}

/// A few pixels, many channels.
Graph many_channels() {
  Network net("many channels");
  const ValueId x = net.input({1, 3, 4, 640});
  return net.finish(net.conv(net.conv(x, 1280, {.kernel = 1, .activation = UnaryKind::relu}), 640, {.kernel = 1}));
}

class Lists : public testing::Test {
 protected:
  /// How many plans have a segment that so many lists share, each way.
  std::map<std::pair<Sharing, int>, int> shared_;

  void check(const Graph& graph, Schedule schedule, int threads, const std::vector<Tensor>& inputs,
             const std::vector<Tensor>& expected) {
    static const Topology topology = large_server();
    static Workers one = workers_of(1), three = workers_of(3);
    const Plan plan = make_plan(graph, topology, {schedule, Math::fast, threads, 0});
    verify(plan, graph);
    WeightStore weights;
    const auto program = compile(graph, plan, topology.features, weights);
    auto made = program->segments.begin();  // none of views
    for (const SegmentPlan& segment : plan.segments)
      if (segment.kind != SegmentPlan::Kind::view) ++shared_[{segment.sharing, (made++)->participants}];
    for (Workers* workers : {&one, &three}) {
      Executor executor(program, nullptr, workers);
      for (int again = 0; again < 2; ++again)
        EXPECT_TRUE(same_bits(run(executor, inputs), expected))
            << graph.name << ", schedule " << static_cast<int>(schedule) << ", threads " << threads << " by "
            << workers->limit();
    }
  }

  static Workers workers_of(int limit) {
    Topology topology = fixed_topology("server-16");
    topology.cpu_quota = limit;
    return Workers(topology);
  }
};

TEST_F(Lists, OfManyThreadsGiveTheBitsOfOne) {
  std::vector<Graph> graphs;
  graphs.push_back(six_layers(530, 24, 16));
  graphs.push_back(many_images());
  graphs.push_back(many_channels());
  graphs.push_back(wide_layers(66, 20));
  graphs.push_back(denoiser(200, 40));
  graphs.push_back(inverted_residual(130, 14));
  graphs.push_back(large_filters(140, 33));
  graphs.push_back(filters_along_rows(70, 200));
  graphs.push_back(pooling_net());
  for (std::uint32_t seed = 900; seed < 908; ++seed) graphs.push_back(random_network(seed));
  for (const Graph& graph : graphs) {
    const std::vector<Tensor> inputs = random_inputs(graph, 17);
    const std::vector<Tensor> expected =
        run(graph, {Schedule::layers, Math::fast, 1, 0}, kernels::usable_features(), inputs);
    for (const int threads : {8, 16, 32, 64})
      for (const Schedule schedule : {Schedule::columns, Schedule::layers, Schedule::automatic})
        check(graph, schedule, threads, inputs, expected);
  }
  for (const int threads : {8, 16, 32, 64})
    for (const Sharing sharing : {Sharing::bands, Sharing::rounds})
      EXPECT_GT((shared_[{sharing, threads}]), 0) << "no segment is shared so by " << threads;
}

}  // namespace
}  // namespace colonnade::test
