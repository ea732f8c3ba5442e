// SPDX-License-Identifier: Apache-2.0
// The cost model: predicted microseconds of a node or a segment.
#pragma once

#include "plan/plan.hpp"
#include "plan/row_maps.hpp"

namespace colonnade {

/// What a node moves and computes, independent of the schedule.
struct NodeWork {
  double flop = 0;
  double efficiency = 1;           ///< share of the FMA peak that its kernel reaches
  std::int64_t weights_bytes = 0;  ///< packed
  std::int64_t scratch_bytes = 0;  ///< kernel workspace of one thread
};

std::vector<NodeWork> node_work(const Graph& graph, const std::vector<KernelChoice>& choices);

/// Where a working set of `bytes` a thread lies that `threads` threads use again and again.
MemoryLevel memory_level(const Topology& topology, std::int64_t bytes, int threads);

/// GB/s at which one of `threads` threads reads a working set of `bytes` again and again.
double read_rate(const Topology& topology, std::int64_t bytes, int threads);

/// What one node of a segment moves, all images and rows.
struct NodeTraffic {
  std::int64_t rows = 1;
  std::int64_t rows_per_step = 1;
  std::int64_t live_rows = 0;  ///< ring rows of its output; 0: a whole tensor
  std::int64_t chunks = 1;
  std::int64_t strips = 1;
  double recomputed = 1;  ///< columns computed over columns there are
  std::int64_t written_bytes = 0;
  std::int64_t inner_bytes = 0;  ///< read from rings of the segment
  std::int64_t outer_bytes = 0;  ///< read from whole tensors
};

/// Predicted time of a segment: arithmetic at its kernels' rates, plus each byte at the rate of the cache where it lies
/// when it is used again. What the step before or after touches is near: the rows and weights of one node's step. What
/// comes back a step later (the rows above a window, the weights) is as far as all that the segment keeps.
class SegmentTime {
 public:
  /// `resident_bytes`: rings and weights of the segment, one thread.
  SegmentTime(const Topology& topology, int threads, std::int64_t resident_bytes);
  void add(const NodeWork& work, const NodeTraffic& traffic);
  /// Microseconds on all threads when each takes `walks` steps of `nodes` nodes.
  double microseconds(std::int64_t walks, std::int64_t nodes) const;

 private:
  const Topology& topology_;
  int threads_;
  double far_rate_;
  double compute_seconds_ = 0;
  double traffic_seconds_ = 0;
  double walk_seconds_ = 0;  ///< weights, each walk
};

}  // namespace colonnade
