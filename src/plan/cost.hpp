// SPDX-License-Identifier: Apache-2.0
// The cost model's terms: what a node computes, and how fast memory is where a working set lies.
#pragma once

#include <algorithm>

#include "plan/plan.hpp"
#include "plan/row_maps.hpp"

namespace colonnade {

/// What a node moves and computes, independent of the schedule.
struct NodeWork {
  double flop = 0;
  double seconds = 0;              ///< of one thread for all images and rows, operands in L2
  double visit_seconds = 0;        ///< of each call besides
  std::int64_t weights_bytes = 0;  ///< packed
  std::int64_t scratch_bytes = 0;  ///< kernel workspace of one thread
  std::int64_t shared_bytes = 0;   ///< and of all (Family::turns)
  std::int64_t read_bytes = 0;     ///< of inputs that are not constant and lie elsewhere
  std::int64_t placed_bytes = 0;   ///< of its output, which lie there already
};

/// All but what depends on where values lie.
ByNode<NodeWork> node_work(const Graph& graph, const ByNode<Choice>& choices, const Rates& rates);

/// Where a working set of `bytes` lies that a thread uses again and again: of shared caches it has a core's share.
MemoryLevel memory_level(const Topology& topology, std::int64_t bytes);

/// How much longer than from L2 a byte takes that one of `threads` threads reads again and again: of a working set, L2
/// holds what fits, a core's share of L3 what fits of the rest.
class CacheReach {
 public:
  CacheReach() = default;
  CacheReach(const Topology& topology, int threads);
  /// Seconds a byte, for working sets of `bytes` a thread.
  double seconds_beyond_l2(std::int64_t bytes) const;
  /// Seconds a byte less than from L2, where a kernel reads what was just written, of so many bytes that it touches.
  double seconds_saved_near(std::int64_t bytes) const {
    return static_cast<double>(bytes) <= l1_bytes_ ? l1_saving_ : 0;
  }
  /// Seconds a byte that another thread has just written.
  double seconds_from_others() const { return l3_seconds_; }
  /// The same caches, where a byte of this level takes a second and others none: what takes seconds is a count of
  /// bytes.
  CacheReach counting(MemoryLevel level) const;

 private:
  double l1_bytes_ = 0, l2_bytes_ = 0, l3_bytes_ = 0;
  double l1_saving_ = 0;
  double l3_seconds_ = 0, dram_seconds_ = 0;
};

/// What `memory` seconds add to `arithmetic` seconds, which hide some of them. Asked for every node of every candidate.
inline double exposed(double memory, double arithmetic) {
  // Of what streams through once, arithmetic hides this share of its own time, but never the last share of memory's.
  constexpr double kHiding = 0.3, kLeastExposed = 0.3;
  return std::max(kLeastExposed * memory, memory - kHiding * arithmetic);
}

}  // namespace colonnade
