// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "base/numbers.hpp"
#include "topology/probe.hpp"
#include "topology/topology.hpp"

namespace colonnade {
namespace {

std::vector<Core> cores_in_nodes(int count, int nodes, int smt_siblings) {
  std::vector<Core> cores;
  for (int i = 0; i < count; ++i) {
    const int node = i * nodes / count;
    cores.push_back({.os_processor = i, .numa_node = node, .l3_domain = node, .smt_siblings = smt_siblings});
  }
  return cores;
}

/// The rates of a machine on paper: kernels reach their usual share of its peak.
Rates fixed_rates(Rates rates, int cores) {
  rates.l3_total_gbs = rates.l3_gbs * cores;
  rates.dram_total_gbs = rates.dram_gbs * cores;
  rates.total_threads = cores;
  rates.work = default_work(rates.fma_gflops, rates.l2_gbs);
  rates.source = "fixed";
  return rates;
}

Topology zen4_2() {
  Topology topology;
  topology.cpu_model = "zen4-2";
  topology.features = kernels::Isa::vnni;
  topology.cores = cores_in_nodes(2, 1, 1);
  topology.caches = {{1, 32 * kKiB, 1}, {2, 1 * kMiB, 1}, {3, 32 * kMiB, 2}};
  topology.memory_bytes = 8 * kGiB;
  topology.rates = fixed_rates({.fma_gflops = 113, .l2_gbs = 110, .l3_gbs = 90, .dram_gbs = 26, .barrier_us = 0.26},
                               static_cast<int>(topology.cores.size()));
  return topology;
}

Topology zen5_2() {
  Topology topology = zen4_2();
  topology.cpu_model = "zen5-2";
  topology.features = kernels::Isa::bf16;
  topology.caches.front().bytes = 48 * kKiB;
  topology.rates = fixed_rates({.fma_gflops = 255, .l2_gbs = 235, .l3_gbs = 105, .dram_gbs = 51, .barrier_us = 0.28},
                               static_cast<int>(topology.cores.size()));
  return topology;
}

Topology emerald_2() {
  Topology topology;
  topology.cpu_model = "emerald-2";
  topology.features = kernels::Isa::vnni;
  topology.cores = cores_in_nodes(2, 1, 1);
  topology.caches = {{1, 48 * kKiB, 1}, {2, 2 * kMiB, 1}, {3, 260 * kMiB, 2}};
  topology.memory_bytes = 8 * kGiB;
  topology.rates = fixed_rates({.fma_gflops = 175, .l2_gbs = 143, .l3_gbs = 28, .dram_gbs = 16, .barrier_us = 0.3},
                               static_cast<int>(topology.cores.size()));
  return topology;
}

Topology tiny_1() {
  Topology topology;
  topology.cpu_model = "tiny-1";
  topology.features = kernels::Isa::avx2;
  topology.cores = cores_in_nodes(1, 1, 1);
  topology.caches = {{1, 32 * kKiB, 1}, {2, 256 * kKiB, 1}};
  topology.memory_bytes = 1 * kGiB;
  topology.rates = fixed_rates({.fma_gflops = 50, .l2_gbs = 60, .l3_gbs = 8, .dram_gbs = 8, .barrier_us = 0.2},
                               static_cast<int>(topology.cores.size()));
  return topology;
}

Topology server_16() {
  Topology topology;
  topology.cpu_model = "server-16";
  topology.features = kernels::Isa::avx512;
  topology.cores = cores_in_nodes(16, 2, 2);
  topology.caches = {{1, 48 * kKiB, 1}, {2, 2 * kMiB, 1}, {3, 32 * kMiB, 8}};
  topology.nodes = {{.number = 0}, {.number = 1}};
  topology.memory_bytes = 128 * kGiB;
  topology.rates = fixed_rates({.fma_gflops = 140, .l2_gbs = 120, .l3_gbs = 30, .dram_gbs = 4, .barrier_us = 1.0},
                               static_cast<int>(topology.cores.size()));
  return topology;
}

}  // namespace

Topology fixed_topology(std::string_view name) {
  if (name == "zen4-2") return zen4_2();
  if (name == "zen5-2") return zen5_2();
  if (name == "emerald-2") return emerald_2();
  if (name == "tiny-1") return tiny_1();
  if (name == "server-16") return server_16();
  fail(ErrorCode::invalid_argument, "no fixed topology '{}', expected zen4-2, zen5-2, emerald-2, tiny-1 or server-16",
       name);
}

}  // namespace colonnade
