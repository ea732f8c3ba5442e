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
#include <sstream>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "topology/probe.hpp"

namespace colonnade {
namespace {

constexpr int kLocalDistance = 10, kFarDistance = 20;  // as firmware counts them

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

int Topology::cores_of_node() const {
  std::ptrdiff_t most = 1;
  for (const NumaNode& node : nodes) most = std::max(most, std::ranges::count(cores, node.number, &Core::numa_node));
  return static_cast<int>(most);
}

int Topology::distance(int from, int to) const {
  const auto place = [&](int number) {
    return static_cast<std::size_t>(std::ranges::find(nodes, number, &NumaNode::number) - nodes.begin());
  };
  const std::size_t row = place(from), column = place(to);
  if (row < nodes.size() && column < nodes[row].distances.size()) return nodes[row].distances[column];
  return from == to ? kLocalDistance : kFarDistance;
}

double Topology::far_factor() const {
  double sum = 0, count = 0;
  for (const NumaNode& node : nodes)
    for (const int distance : node.distances) sum += real(distance) / kLocalDistance, count += 1;
  return count > 0 ? std::max(1.0, sum / count) : 1;
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
  const double cores_a_node = cores / static_cast<double>(topology.nodes.size());
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
  if (!kernels::is_built(isa) && kernels::host_features().contains(isa)) {
    fail(ErrorCode::invalid_argument, "{}: this host runs tier '{}', this build has only {}", source, value,
         tiers_of(host));
  }
  if (!host.contains(isa)) {
    fail(ErrorCode::invalid_argument, "{}: this host has no tier '{}', it has {}", source, value, tiers_of(host));
  }
  return isa;
}

bool machine_has_several_nodes() {
  return read_text("/sys/devices/system/node/online").find_first_of(",-") != std::string::npos;
}

std::int64_t free_memory_of_node(int number) {
  std::istringstream text(read_text(("/sys/devices/system/node/node" + std::to_string(number) + "/meminfo").c_str()));
  std::int64_t sum = 0;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string node, n, what;
    std::int64_t kib = 0;
    if (words >> node >> n >> what >> kib && (what == "MemFree:" || what == "FilePages:")) sum += kib * kKiB;
  }
  return sum;
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
  if (!probe.nodes.empty()) topology.nodes = std::move(probe.nodes);
  topology.cpu_quota = cgroup_cpu_quota("/sys/fs/cgroup", read_text("/proc/self/cgroup"));
  topology.memory_bytes = physical_memory_bytes();
  return topology;
}

Topology detect_topology(const std::string& isa) {
  const kernels::Features features = select_features(isa);
  Topology topology = detect_cores(allowed_processors());
  topology.features = features;
  const std::optional<Rates> measured = read_rates(rates_path(topology), machine_key(topology));
  set_rates(topology, measured ? *measured : default_rates(topology));
  return topology;
}

void set_rates(Topology& topology, Rates rates) {
  topology.rates = std::move(rates);
  double most = 1;  // the order of the cores stays
  for (Core& core : topology.cores) {
    for (const CoreSpeed& kind : topology.rates.speeds)
      if (core.speed == kind.expected) {
        core.speed = kind.measured;
        break;
      }
    most = core.speed = std::min(core.speed, most);
  }
}

}  // namespace colonnade
