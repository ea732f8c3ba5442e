// SPDX-License-Identifier: Apache-2.0
// The cost model's terms: what a node computes, and how fast memory is where a working set lies.
#pragma once

#include "plan/plan.hpp"
#include "plan/row_maps.hpp"

namespace colonnade {

/// What a node moves and computes, independent of the schedule.
struct NodeWork {
  double flop = 0;
  double seconds = 0;              ///< of one thread for all images and rows, operands in L2
  std::int64_t weights_bytes = 0;  ///< packed
  std::int64_t scratch_bytes = 0;  ///< kernel workspace of one thread
};

std::vector<NodeWork> node_work(const Graph& graph, const std::vector<KernelChoice>& choices, const Rates& rates);

/// Where a working set of `bytes` a thread lies that `threads` threads use again and again.
MemoryLevel memory_level(const Topology& topology, std::int64_t bytes, int threads);

/// Seconds more than from L2 that a byte takes when it lies at this level and `threads` threads read.
double seconds_beyond_l2(const Topology& topology, MemoryLevel level, int threads);

}  // namespace colonnade
