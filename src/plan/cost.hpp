// SPDX-License-Identifier: Apache-2.0
// The cost model: predicted microseconds of a node or a segment.
#pragma once

#include "plan/plan.hpp"
#include "plan/row_maps.hpp"

namespace colonnade {

/// What a node moves and computes, independent of the schedule.
struct NodeWork {
  double flop = 0;
  double efficiency = 1;             ///< share of the FMA peak that its kernel reaches
  std::int64_t weights_bytes = 0;    ///< packed
  std::int64_t scratch_bytes = 0;    ///< kernel workspace of one thread
};

std::vector<NodeWork> node_work(const Graph& graph, const std::vector<KernelChoice>& choices);

/// GB/s at which one of `threads` threads reads a working set of `bytes` again and again.
double read_rate(const Topology& topology, std::int64_t bytes, int threads);

/// A segment as the cost model sees it.
struct SegmentWork {
  double flop_seconds = 0;           ///< arithmetic of all its nodes on one thread
  std::int64_t ring_traffic = 0;     ///< bytes of rings written and read, all rows
  std::int64_t ring_bytes = 0;       ///< of one thread
  std::int64_t whole_traffic = 0;    ///< bytes of whole tensors read and written
  std::int64_t whole_bytes = 0;      ///< the whole tensors themselves, for where they live
  std::int64_t weights_bytes = 0;
  std::int64_t steps = 0;            ///< instructions of one thread
  std::int64_t walks = 0;            ///< times the weights are read, on one thread
};

/// Predicted microseconds on `threads` threads.
double predict_us(const SegmentWork& work, const Topology& topology, int threads);

}  // namespace colonnade
