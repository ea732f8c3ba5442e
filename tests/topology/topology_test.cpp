// SPDX-License-Identifier: Apache-2.0
#include "topology/topology.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "colonnade/colonnade.hpp"
#include "topology/probe.hpp"

namespace colonnade {
namespace {

std::int64_t no_cache_known(int) { return 0; }
std::int64_t all_caches_known(int level) { return std::int64_t{1000} * level; }
std::int64_t third_cache_known(int level) { return level == 3 ? 5000 : 0; }

template <class Action>
std::string error_of(ErrorCode expected, Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), expected);
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return {};
}

/// Sets COLONNADE_ISA for one test and restores it.
class IsaVariable {
 public:
  explicit IsaVariable(const char* value) {
    const char* old = std::getenv("COLONNADE_ISA");
    if (old != nullptr) old_ = old;
    had_ = old != nullptr;
    value == nullptr ? unsetenv("COLONNADE_ISA") : setenv("COLONNADE_ISA", value, 1);
  }
  ~IsaVariable() { had_ ? setenv("COLONNADE_ISA", old_.c_str(), 1) : unsetenv("COLONNADE_ISA"); }
  IsaVariable(const IsaVariable&) = delete;
  IsaVariable& operator=(const IsaVariable&) = delete;

 private:
  std::string old_;
  bool had_ = false;
};

Topology with_cores(std::size_t count, double quota) {
  Topology topology;
  topology.cores.resize(count);
  topology.cpu_quota = quota;
  return topology;
}

TEST(DefaultThreads, TakesTheSmallerOfCoresAndQuota) {
  EXPECT_EQ(with_cores(4, 0).default_threads(), 4);
  EXPECT_EQ(with_cores(4, 2).default_threads(), 2);
  EXPECT_EQ(with_cores(4, 1.5).default_threads(), 2);
  EXPECT_EQ(with_cores(4, 0.1).default_threads(), 1);
  EXPECT_EQ(with_cores(4, 16).default_threads(), 4);
  EXPECT_EQ(with_cores(4, 1e300).default_threads(), 4);
  EXPECT_EQ(with_cores(0, 0).default_threads(), 1);
}

TEST(CacheBytes, DividesSharedCaches) {
  Topology topology;
  topology.caches = {{1, 32768, 1}, {3, 1 << 20, 4}};
  EXPECT_EQ(topology.cache_bytes(1), 32768);
  EXPECT_EQ(topology.cache_bytes(2), 0);
  EXPECT_EQ(topology.cache_bytes(3), 1 << 18);
}

TEST(ParseTier, AcceptsWhatTheHostHas) {
  EXPECT_EQ(parse_tier("baseline", "isa", kernels::Isa::baseline), kernels::Isa::baseline);
  EXPECT_EQ(parse_tier("avx2", "isa", kernels::Isa::avx512), kernels::Isa::avx2);
}

TEST(ParseTier, NamesTheHostsTiersInErrors) {
  const std::string unknown =
      error_of(ErrorCode::invalid_argument, [] { parse_tier("sse9", "COLONNADE_ISA", kernels::Isa::avx2); });
  EXPECT_EQ(
      unknown,
      "COLONNADE_ISA: unknown tier 'sse9', expected one of baseline, avx2, avxvnni, avx512, vnni, bf16, amx (this host "
      "has baseline, avx2)");
  const std::string absent =
      error_of(ErrorCode::invalid_argument, [] { parse_tier("avx512", "isa", kernels::Isa::avx2); });
  EXPECT_EQ(absent, "isa: this host has no tier 'avx512', it has baseline, avx2");
}

TEST(SelectIsa, PrefersTheRequestThenTheVariableThenTheHost) {
  {
    const IsaVariable unset(nullptr);
    EXPECT_EQ(select_features(""), kernels::usable_features());
  }
  {
    const IsaVariable empty("");
    EXPECT_EQ(select_features(""), kernels::usable_features());
  }
  const IsaVariable baseline("baseline");
  EXPECT_EQ(select_features(""), kernels::Isa::baseline);
  EXPECT_EQ(detect_topology().features, kernels::Isa::baseline);
  const char* const best = kernels::name_of(kernels::usable_features());
  EXPECT_STREQ(kernels::name_of(select_features(best)), best);
}

TEST(SelectIsa, RefusesGarbageInTheVariable) {
  const IsaVariable garbage("AVX2 ");
  EXPECT_THROW(select_features(""), Error);
  EXPECT_THROW(detect_topology(), Error);
}

TEST(DetectTopology, DescribesThisMachine) {
  const IsaVariable unset(nullptr);
  const Topology topology = detect_topology();
  ASSERT_FALSE(topology.cores.empty());
  const std::vector<int> allowed = allowed_processors();
  for (const Core& core : topology.cores) {
    EXPECT_TRUE(std::binary_search(allowed.begin(), allowed.end(), core.os_processor)) << core.os_processor;
    EXPECT_GE(core.smt_siblings, 1);
  }
  EXPECT_LE(topology.cores.size(), allowed.size());
  EXPECT_GE(topology.nodes.size(), 1u);
  EXPECT_GT(topology.cache_bytes(1), 0);
  EXPECT_GE(topology.cache_bytes(2), topology.cache_bytes(1));
  EXPECT_GT(topology.memory_bytes, 1 << 20);
  EXPECT_GE(topology.default_threads(), 1);
  EXPECT_EQ(topology, detect_topology());
}

TEST(DetectTopology, StaysWithinTheAffinityMask) {
  const std::vector<int> allowed = allowed_processors();
  ASSERT_FALSE(allowed.empty());
  cpu_set_t old;
  ASSERT_EQ(sched_getaffinity(0, sizeof old, &old), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(allowed.back()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const Topology topology = detect_topology();
  ASSERT_EQ(sched_setaffinity(0, sizeof old, &old), 0);
  ASSERT_EQ(topology.cores.size(), 1u);
  EXPECT_EQ(topology.cores[0].os_processor, allowed.back());
  EXPECT_EQ(topology.default_threads(), 1);
}

TEST(ProbeHardware, ReadsASyntheticMachine) {
  const HardwareProbe probe =
      probe_hardware({}, "numa:2 l3:2(size=16777216) l2:4(size=1048576) l1d:1(size=32768) core:1 pu:2");
  ASSERT_EQ(probe.cores.size(), 16u);
  EXPECT_EQ(probe.cores[0], (Core{.os_processor = 0, .numa_node = 0, .l3_domain = 0, .smt_siblings = 2}));
  EXPECT_EQ(probe.cores[5], (Core{.os_processor = 10, .numa_node = 0, .l3_domain = 1, .smt_siblings = 2}));
  EXPECT_EQ(probe.cores[15], (Core{.os_processor = 30, .numa_node = 1, .l3_domain = 3, .smt_siblings = 2}));
  EXPECT_EQ(probe.caches, (std::vector<CacheLevel>{{1, 32768, 1}, {2, 1048576, 1}, {3, 16777216, 4}}));
}

TEST(ProbeHardware, KeepsToTheAllowedProcessors) {
  const int allowed[] = {3, 4, 5, 15, 999};
  const HardwareProbe probe = probe_hardware(allowed, "numa:2 l3:1 core:4 pu:2");
  ASSERT_EQ(probe.cores.size(), 3u);
  EXPECT_EQ(probe.cores[0].os_processor, 3);
  EXPECT_EQ(probe.cores[1].os_processor, 4);
  EXPECT_EQ(probe.cores[2], (Core{.os_processor = 15, .numa_node = 1, .l3_domain = 1, .smt_siblings = 2}));
}

TEST(ProbeHardware, NumbersDomainsFromZero) {
  const int allowed[] = {4, 5};
  const HardwareProbe probe = probe_hardware(allowed, "numa:2 l3:1 core:4 pu:1");
  ASSERT_EQ(probe.cores.size(), 2u);
  ASSERT_EQ(probe.nodes.size(), 1u) << "nodes are the system's";
  EXPECT_EQ(probe.nodes[0].number, 1);
  EXPECT_EQ(probe.cores[0], (Core{.os_processor = 4, .numa_node = 1, .l3_domain = 0, .smt_siblings = 1}));
}

TEST(ProbeHardware, IsEmptyWhenNothingCanBeRead) {
  EXPECT_TRUE(probe_hardware({}, "no such machine").cores.empty());
  const int elsewhere[] = {77};
  EXPECT_TRUE(probe_hardware(elsewhere, "core:2 pu:1").cores.empty());
}

TEST(CompleteCaches, KeepsWhatIsKnown) {
  const std::vector<CacheLevel> known{{1, 1, 1}, {2, 2, 2}, {3, 3, 3}};
  EXPECT_EQ(complete_caches(known, all_caches_known, 8), known);
}

TEST(CompleteCaches, AsksForMissingLevels) {
  EXPECT_EQ(complete_caches({{1, 48, 1}}, all_caches_known, 8),
            (std::vector<CacheLevel>{{1, 48, 1}, {2, 2000, 1}, {3, 3000, 8}}));
  EXPECT_EQ(complete_caches({}, third_cache_known, 2),
            (std::vector<CacheLevel>{{1, 32 << 10, 1}, {2, 1 << 20, 1}, {3, 5000, 2}}));
}

TEST(CompleteCaches, FallsBackToCommonSizes) {
  EXPECT_EQ(complete_caches({}, no_cache_known, 1),
            (std::vector<CacheLevel>{{1, 32 << 10, 1}, {2, 1 << 20, 1}, {3, 16 << 20, 1}}));
}

TEST(CompleteCaches, InventsNoThirdLevel) {
  EXPECT_EQ(complete_caches({{1, 32, 1}, {2, 256, 1}}, no_cache_known, 1),
            (std::vector<CacheLevel>{{1, 32, 1}, {2, 256, 1}}));
}

TEST(FixedTopology, HasTheNamedMachines) {
  EXPECT_EQ(fixed_topology("zen4-2").cache_bytes(2), 1 << 20);
  EXPECT_EQ(fixed_topology("zen4-2").rates.fma_gflops, 113);
  EXPECT_EQ(fixed_topology("emerald-2").cache_bytes(2), 2 << 20);
  EXPECT_EQ(fixed_topology("emerald-2").rates.l3_gbs, 28);
  EXPECT_EQ(fixed_topology("tiny-1").cache_bytes(2), 256 << 10);
  EXPECT_EQ(fixed_topology("tiny-1").cache_bytes(3), 0);
  EXPECT_EQ(fixed_topology("tiny-1").default_threads(), 1);
  const Topology server = fixed_topology("server-16");
  EXPECT_EQ(server.default_threads(), 16);
  EXPECT_EQ(server.nodes.size(), 2u);
  EXPECT_EQ(server.cores_of_node(), 8);
  EXPECT_EQ(server.far_factor(), 1) << "nothing is known of distances";
  EXPECT_EQ(server.cores[7].numa_node, 0);
  EXPECT_EQ(server.cores[8].numa_node, 1);
}

TEST(FixedTopology, RefusesAnotherName) {
  const std::string message = error_of(ErrorCode::invalid_argument, [] { fixed_topology("zen5"); });
  EXPECT_NE(message.find("zen5"), std::string::npos);
  EXPECT_NE(message.find("server-16"), std::string::npos);
}

TEST(DefaultRates, FollowTheTierAndTheCaches) {
  Topology topology = fixed_topology("zen4-2");
  const Rates fast = default_rates(topology);
  EXPECT_GT(fast.fma_gflops, 100);
  EXPECT_GT(fast.l3_gbs, fast.dram_gbs);
  topology.features = kernels::Isa::baseline;
  EXPECT_LT(default_rates(topology).fma_gflops, fast.fma_gflops);
  EXPECT_LT(default_rates(fixed_topology("emerald-2")).l3_gbs, fast.l3_gbs);
  const Rates tiny = default_rates(fixed_topology("tiny-1"));
  EXPECT_EQ(tiny.l3_gbs, tiny.dram_gbs);
  EXPECT_LT(default_rates(fixed_topology("server-16")).dram_gbs, fast.dram_gbs + 1);
}

TEST(ToText, NamesWhatThePlannerUses) {
  Topology topology = fixed_topology("server-16");
  topology.cpu_quota = 2.5;
  const std::string text = to_text(topology);
  for (const char* part : {"avx512", "16 cores, 2 threads each, 2 NUMA nodes, 2 L3 domains", "2 MiB for 1 core",
                           "32 MiB for 8 cores", "128 GiB", "2.50 cores", "threads  3"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
  }
}

}  // namespace
}  // namespace colonnade
