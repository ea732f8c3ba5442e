// SPDX-License-Identifier: Apache-2.0
#include "plan/cost.hpp"

#include <algorithm>

#include "graph/contraction.hpp"

namespace colonnade {
namespace {

constexpr double kGiga = 1e9;
// Shares of a cache that a working set can count on.
constexpr double kUsableL2 = 0.5;
constexpr double kUsableL3 = 0.4;
/// Of what a byte takes from L2, what it takes less from L1.
constexpr double kNearSaving = 0.8;

/// The activation that a contraction applies to its sums, where that is more than a few instructions.
double epilogue_seconds(const Subject& node, const Rates& rates) {
  const FusedEpilogue* epilogue = epilogue_of(node.node.op);
  if (epilogue == nullptr || !is_costly(epilogue->activation.kind)) return 0;
  return rates.seconds(Work::function, real(element_count(node.output_shape())), 1);
}

double seconds_a_pixel(const Shape& out, double seconds) {
  return seconds * real(out.back()) / real(element_count(out));
}

/// Seconds more than from L2 that a byte takes from this level when `threads` threads read. A team that one NUMA node
/// has no cores for finds much of its memory on others.
double extra_seconds(const Topology& topology, MemoryLevel level, int threads) {
  if (level == MemoryLevel::l2) return 0;
  const Rates& rates = topology.rates;
  const bool l3 = level == MemoryLevel::l3;
  const double total = l3 ? rates.l3_total_gbs : rates.dram_total_gbs;
  double rate = l3 ? rates.l3_gbs : rates.dram_gbs;
  if (total > 0) rate = std::min(rate, std::max(total, rate) / std::min<double>(threads, rates.total_threads));
  if (!l3 && threads > topology.cores_of_node()) rate /= topology.far_factor();
  return std::max(0.0, 1 / (kGiga * rate) - 1 / (kGiga * rates.l2_gbs));
}

}  // namespace

ByNode<NodeWork> node_work(const Graph& graph, const ByNode<Choice>& choices, const Rates& rates) {
  auto work = ByNode<NodeWork>::of(graph.nodes.size());
  for (const NodeIndex i : nodes_of(graph)) {
    const Family& family = *choices[i].family;
    const Chosen node{{graph, node_of(graph, i)}, choices[i]};
    work[i].weights_bytes = family.weights_bytes(node);
    work[i].scratch_bytes = family.workspace_bytes(node);
    work[i].shared_bytes = family.turns(node).shared_bytes;
    const ValueId out = node.node.outputs[0];
    if (out == kAbsent || !graph.value(out).type.is_static()) continue;
    const Effort effort = family.effort(node, rates);
    work[i].flop = flop_of(graph, node.node);
    work[i].seconds = effort.seconds + epilogue_seconds(node, rates);
    if (effort.idle_pixels > 0)
      work[i].visit_seconds = effort.idle_pixels * seconds_a_pixel(node.output_shape(), work[i].seconds);
  }
  return work;
}

MemoryLevel memory_level(const Topology& topology, std::int64_t bytes) {
  if (real(bytes) <= kUsableL2 * real(topology.cache_bytes(2))) return MemoryLevel::l2;
  return real(bytes) <= kUsableL3 * real(topology.cache_bytes(3)) ? MemoryLevel::l3 : MemoryLevel::dram;
}

CacheReach::CacheReach(const Topology& topology, int threads)
    : l1_bytes_(real(topology.cache_bytes(1))),
      l2_bytes_(kUsableL2 * real(topology.cache_bytes(2))),
      l3_bytes_(kUsableL3 * real(topology.cache_bytes(3))),
      l1_saving_(kNearSaving / (kGiga * topology.rates.l2_gbs)),
      l3_seconds_(extra_seconds(topology, MemoryLevel::l3, threads)),
      dram_seconds_(extra_seconds(topology, MemoryLevel::dram, threads)) {}

CacheReach CacheReach::counting(MemoryLevel level) const {
  CacheReach counting = *this;
  counting.l3_seconds_ = level == MemoryLevel::l3 ? 1 : 0;
  counting.dram_seconds_ = level == MemoryLevel::dram ? 1 : 0;
  return counting;
}

double CacheReach::seconds_beyond_l2(std::int64_t bytes) const {
  const double all = real(bytes);
  if (all <= l2_bytes_) return 0;
  const double in_l3 = std::min(all, std::max(l3_bytes_, l2_bytes_)) - l2_bytes_;
  const double in_dram = std::max(0.0, all - std::max(l3_bytes_, l2_bytes_));
  return (in_l3 * l3_seconds_ + in_dram * dram_seconds_) / all;
}

}  // namespace colonnade
