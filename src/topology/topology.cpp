// SPDX-License-Identifier: Apache-2.0
#include "topology/topology.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include "base/error.hpp"
#include "topology/probe.hpp"

namespace colonnade {
namespace {

std::string read_text(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::int64_t physical_memory_bytes() {
  return std::int64_t{std::max(0L, sysconf(_SC_PHYS_PAGES))} * std::max(0L, sysconf(_SC_PAGE_SIZE));
}

std::string tiers_of(kernels::Features features) {
  std::string names;
  for (const kernels::Isa isa : kernels::kAllIsas) {
    if (!features.contains(isa)) continue;
    if (!names.empty()) names += ", ";
    names += kernels::name_of(isa);
  }
  return names;
}

std::string all_tiers() {
  kernels::Features all;
  for (const kernels::Isa isa : kernels::kAllIsas) all.add(kernels::Features(isa));
  return tiers_of(all);
}

template <class Member>
int distinct(const std::vector<Core>& cores, Member member) {
  std::set<int> values;
  for (const Core& core : cores) values.insert(core.*member);
  return static_cast<int>(values.size());
}

/// Large caches behind a mesh are slow, small ones beside the cores fast.
double expected_l3_gbs(const Topology& topology) {
  constexpr std::int64_t kLargestFastBytes = std::int64_t{96} << 20;
  for (const CacheLevel& cache : topology.caches) {
    if (cache.level == 3) return cache.bytes <= kLargestFastBytes ? 80 : 30;
  }
  return topology.rates.dram_gbs;
}

}  // namespace

int Topology::default_threads() const {
  const int core_count = std::max(1, static_cast<int>(cores.size()));
  if (!(cpu_quota > 0) || cpu_quota >= core_count) return core_count;
  return std::max(1, static_cast<int>(std::ceil(cpu_quota)));
}

std::int64_t Topology::cache_bytes(int level) const {
  for (const CacheLevel& cache : caches) {
    if (cache.level == level) return cache.bytes / std::max(1, cache.sharing_cores);
  }
  return 0;
}

std::vector<int> allowed_processors(int thread) {
  constexpr int kMostProcessors = 1 << 16;
  for (int capacity = 1024; capacity <= kMostProcessors; capacity *= 2) {
    const auto free_set = [](cpu_set_t* set) { CPU_FREE(set); };
    const std::unique_ptr<cpu_set_t, decltype(free_set)> set(CPU_ALLOC(static_cast<std::size_t>(capacity)), free_set);
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity));
    if (set == nullptr) break;
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(thread, bytes, set.get()) != 0) continue;
    std::vector<int> processors;
    for (int i = 0; i < capacity; ++i) {
      if (CPU_ISSET_S(static_cast<std::size_t>(i), bytes, set.get())) processors.push_back(i);
    }
    return processors;
  }
  return {};
}

Rates default_rates(const Topology& topology) {
  Rates rates;
  rates.fma_gflops = 25, rates.l2_gbs = 45;
  if (topology.features.contains(kernels::Isa::avx2)) rates.fma_gflops = 90, rates.l2_gbs = 90;
  if (topology.features.contains(kernels::Isa::avx512)) rates.fma_gflops = 130, rates.l2_gbs = 120;
  const double cores = std::max<double>(1, static_cast<double>(topology.cores.size()));
  const double cores_a_node = cores / std::max(1, topology.numa_nodes);
  rates.dram_gbs = std::clamp(64.0 / cores_a_node, 4.0, 16.0);
  Topology with_dram = topology;
  with_dram.rates = rates;
  rates.l3_gbs = std::min(expected_l3_gbs(with_dram), rates.l2_gbs);
  rates.l3_total_gbs = rates.l3_gbs * cores;
  rates.dram_total_gbs = rates.dram_gbs * cores;
  rates.total_threads = cores;
  rates.barrier_us = 0.15 * (1 + std::log2(cores));
  rates.work = default_work(rates.fma_gflops, rates.l2_gbs);
  return rates;
}

kernels::Isa parse_tier(const std::string& value, const char* source, kernels::Features host) {
  kernels::Isa isa = kernels::Isa::baseline;
  if (!kernels::parse_isa(value.c_str(), isa)) {
    fail(ErrorCode::invalid_argument, "{}: unknown tier '{}', expected one of {} (this host has {})", source, value,
         all_tiers(), tiers_of(host));
  }
  if (!host.contains(isa)) {
    fail(ErrorCode::invalid_argument, "{}: this host has no tier '{}', it has {}", source, value, tiers_of(host));
  }
  return isa;
}

kernels::Features select_features(const std::string& requested) {
  const kernels::Features host = kernels::usable_features();
  if (!requested.empty()) return parse_tier(requested, "isa", host);
  const char* environment = std::getenv("COLONNADE_ISA");
  if (environment != nullptr && *environment != '\0') return parse_tier(environment, "COLONNADE_ISA", host);
  return host;
}

std::vector<int> processors_of_process() {
  const std::vector<int> mine = allowed_processors(), first = allowed_processors(getpid());
  std::vector<int> all;
  std::set_union(mine.begin(), mine.end(), first.begin(), first.end(), std::back_inserter(all));
  return all;
}

Topology detect_cores(std::vector<int> allowed) {
  Topology topology;
  HardwareProbe probe = probe_hardware(allowed);
  topology.cpu_model = probe.cpu_model.empty() ? "unknown" : probe.cpu_model;
  topology.cores = std::move(probe.cores);
  topology.core_of = std::move(probe.core_of);
  if (topology.cores.empty()) topology.cores.push_back({.os_processor = allowed.empty() ? 0 : allowed.front()});
  topology.caches =
      complete_caches(std::move(probe.caches), probe_cache_bytes, static_cast<int>(topology.cores.size()));
  topology.numa_nodes = distinct(topology.cores, &Core::numa_node);
  topology.cpu_quota = cgroup_cpu_quota("/sys/fs/cgroup", read_text("/proc/self/cgroup"));
  topology.memory_bytes = physical_memory_bytes();
  return topology;
}

Topology detect_topology(const std::string& isa) {
  const kernels::Features features = select_features(isa);
  Topology topology = detect_cores(allowed_processors());
  topology.features = features;
  const std::optional<Rates> measured = read_rates(rates_path(topology), machine_key(topology));
  topology.rates = measured ? *measured : default_rates(topology);
  return topology;
}

}  // namespace colonnade
