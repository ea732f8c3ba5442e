// SPDX-License-Identifier: Apache-2.0
// Cores that are not equally fast: what the system says of them, and what each has of the work.
#include "topology/shares.hpp"

#include <gtest/gtest.h>
#include <hwloc.h>

#include "base/error.hpp"
#include "plan/plan.hpp"
#include "support/network.hpp"
#include "topology/probe.hpp"

namespace colonnade::test {
namespace {

/// Two fast cores and four that are half as fast.
Topology hybrid() {
  Topology topology = fixed_topology("server-16");
  topology.nodes = {{}};
  topology.cores.resize(6);
  for (std::size_t core = 0; core < 6; ++core) topology.cores[core] = {.os_processor = static_cast<int>(core)};
  for (std::size_t core = 2; core < 6; ++core) topology.cores[core].speed = 0.5;
  topology.rates.team_us = topology.rates.barrier_us = 0.1;
  return topology;
}

TEST(Shares, AreEqualWhereCoresAre) {
  const Shares shares(fixed_topology("server-16"));
  for (int parts = 1; parts <= 32; ++parts) {
    EXPECT_EQ(shares.width(parts), parts);
    EXPECT_EQ(shares.slowest(parts), 1);
    EXPECT_EQ(shares.fast(parts), parts);
    for (int part = 0; part <= parts; ++part) EXPECT_EQ(shares.begin(100, part, parts), 100 * part / parts);
  }
  EXPECT_EQ(shares.busiest(10, 4), 1.2) << "three of ten, where 2.5 would be even";
}

TEST(Shares, AreAsLargeAsCoresAreFast) {
  const Shares shares(hybrid());
  EXPECT_EQ(shares.width(2), 2);
  EXPECT_EQ(shares.width(6), 4);
  EXPECT_EQ(shares.slowest(2), 1);
  EXPECT_EQ(shares.slowest(6), 2);
  EXPECT_EQ(shares.fast(1), 1);
  EXPECT_EQ(shares.fast(6), 2);
  std::vector<std::int64_t> begins;
  for (int part = 0; part <= 6; ++part) begins.push_back(shares.begin(40, part, 6));
  EXPECT_EQ(begins, (std::vector<std::int64_t>{0, 10, 20, 25, 30, 35, 40}));
  EXPECT_NEAR(shares.busiest(40, 6), 1, 1e-6);
  EXPECT_EQ(shares.begin(7, 1, 6), 2) << "four units a time: two each, one on three of the slow cores";
  EXPECT_EQ(shares.begin(7, 5, 6), 7);
  EXPECT_NEAR(shares.busiest(7, 6), 2 * 4 / 7., 1e-6);
  EXPECT_EQ(shares.begin(40, 7, 10), 28) << "more parts than cores: who runs them is not known";
}

TEST(Shares, DivideTheBandsOfAPlan) {
  Network net("conv");
  const Graph graph = net.finish(net.conv(net.input({1, 80, 64, 64}), 64, {.kernel = 1}));
  const Topology topology = hybrid();
  const Plan plan = make_plan(graph, topology, {Schedule::layers, Math::fast, 6, 0});
  ASSERT_EQ(plan.segments.size(), 1U);
  std::vector<std::int64_t> rows;
  for (const Interval& band : plan.segments.front().bands) rows.push_back(band.end - band.begin);
  EXPECT_EQ(rows, (std::vector<std::int64_t>{20, 20, 10, 10, 10, 10}));
  Topology even = topology;
  for (Core& core : even.cores) core.speed = 1;
  const Plan of_even = make_plan(graph, even, {Schedule::layers, Math::fast, 6, 0});
  EXPECT_NEAR(plan.segments.front().arithmetic_us, of_even.segments.front().arithmetic_us * 6 / 4, 5)
      << "80 rows are not quite even on six cores";
}

TEST(Shares, FewRowsAreForTheFastCoresAlone) {
  Network net("conv");
  const Graph graph = net.finish(net.conv(net.input({1, 4, 64, 64}), 64, {.kernel = 1, .groups = 64}));
  EXPECT_EQ(make_plan(graph, hybrid(), {Schedule::layers, Math::fast, 6, 0}).threads, 2);
}

/// hwloc's description of a machine of two cores of two threads and four small ones.
class HybridMachine : public testing::Test {
 protected:
  struct Kind {
    std::vector<unsigned> processors;
    std::vector<std::pair<std::string, std::string>> infos;
  };

  static HardwareProbe probe(std::vector<Kind> kinds) {
    hwloc_topology_t machine = nullptr;
    hwloc_topology_init(&machine);
    hwloc_topology_set_synthetic(machine, "l3:1 core:6 pu:1");
    hwloc_topology_load(machine);
    int efficiency = 0;
    for (Kind& kind : kinds) {
      hwloc_bitmap_t set = hwloc_bitmap_alloc();
      for (const unsigned processor : kind.processors) hwloc_bitmap_set(set, processor);
      std::vector<hwloc_info_s> infos;
      for (auto& [name, value] : kind.infos) infos.push_back({name.data(), value.data()});
      hwloc_cpukinds_register(machine, set, efficiency++, static_cast<unsigned>(infos.size()), infos.data(), 0);
      hwloc_bitmap_free(set);
    }
    char* text = nullptr;
    int length = 0;
    hwloc_topology_export_xmlbuffer(machine, &text, &length, 0);
    const HardwareProbe found = probe_hardware({}, text);
    hwloc_free_xmlbuffer(machine, text);
    hwloc_topology_destroy(machine);
    return found;
  }

  static std::vector<std::pair<int, double>> cores(const HardwareProbe& probe) {
    std::vector<std::pair<int, double>> found;
    for (const Core& core : probe.cores) found.emplace_back(core.os_processor, core.speed);
    return found;
  }
  using Cores = std::vector<std::pair<int, double>>;
};

TEST_F(HybridMachine, HasItsFastCoresFirst) {
  const HardwareProbe found = probe({{{0, 1, 2, 3}, {{"CoreType", "IntelAtom"}, {"FrequencyMaxMHz", "4000"}}},
                                     {{4, 5}, {{"CoreType", "IntelCore"}, {"FrequencyMaxMHz", "5000"}}}});
  EXPECT_EQ(cores(found), (Cores{{4, 1}, {5, 1}, {0, 0.4}, {1, 0.4}, {2, 0.4}, {3, 0.4}}));
  EXPECT_EQ(found.core_of, (std::vector<int>{2, 3, 4, 5, 0, 1}));
}

TEST_F(HybridMachine, OfArmSaysHowMuchItsCoresCan) {
  EXPECT_EQ(cores(probe({{{0, 1, 2, 3}, {{"LinuxCapacity", "256"}}}, {{4, 5}, {{"LinuxCapacity", "1024"}}}})),
            (Cores{{4, 1}, {5, 1}, {0, 0.25}, {1, 0.25}, {2, 0.25}, {3, 0.25}}));
}

TEST_F(HybridMachine, IsNoneWhereSomeCoresClockALittleHigher) {
  const Cores same{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}};
  const Kind most{{0, 1, 2, 3}, {{"FrequencyMaxMHz", "5100"}}}, two{{4, 5}, {{"FrequencyMaxMHz", "5500"}}};
  EXPECT_EQ(cores(probe({most, two})), same);
  EXPECT_EQ(cores(probe({{{0, 1, 2, 3}, {}}, {{4, 5}, {}}})), same) << "nothing is known of the kinds";
}

TEST(CoreSpeeds, AreAsMeasuredInTheOrderThatWasExpected) {
  Topology topology = hybrid();
  topology.cores[5].speed = 0.25;
  Rates rates = topology.rates;
  rates.speeds = {{0.5, 0.4}, {0.25, 0.45}};
  set_rates(topology, rates);
  std::vector<double> speeds;
  for (const Core& core : topology.cores) speeds.push_back(core.speed);
  EXPECT_EQ(speeds, (std::vector<double>{1, 1, 0.4, 0.4, 0.4, 0.4}));
}

}  // namespace
}  // namespace colonnade::test
