// SPDX-License-Identifier: Apache-2.0
// The order in which one segment's rows are computed, and what must be kept for it: bands, steps, ring rows. Found by
// simulating the walk down the rows.
#pragma once

#include <optional>
#include <vector>

#include "plan/plan.hpp"
#include "plan/row_maps.hpp"

namespace colonnade {

/// An edge inside a segment: local index of the producing node and the rows of it that each output row needs.
struct LocalInput {
  std::int32_t producer = 0;
  const RowMap* map = nullptr;
};

/// One segment as the scheduler sees it; nodes in topological order, indices local to the segment.
struct LocalNode {
  std::int32_t node = 0;  ///< index into Graph::nodes
  std::int64_t rows = 0;
  std::int64_t granularity = 1;
  double weight = 1;       ///< share of the work, for balancing bands
  bool whole = false;      ///< its output is kept as a whole tensor
  std::int32_t host = -1;  ///< node in whose ring its output lies
  std::int32_t chunk_group = -1;
  std::vector<LocalInput> inputs;
  std::vector<std::int32_t> consumers;
};

struct LocalSegment {
  std::vector<LocalNode> nodes;
  std::vector<ChunkGroup> chunk_groups;  ///< with local node indices
};

struct ScheduleResult {
  std::vector<std::vector<Step>> steps;  ///< a list a band, node indices are Graph's
  std::vector<Interval> bands;           ///< of the last node
  std::vector<std::int64_t> ring_rows;   ///< per local node; 0 where whole, the host's where there is one
  std::vector<std::int64_t> head_rows;
  std::int64_t step_count = 0;  ///< of the longest list
};

/// Walks `bands` bands of the segment, `rows_per_step` rows of its largest sink at a time. Skewed bands: each node's
/// rows are cut where no row above is needed below (techniques: point-to-point flags instead of recomputed halos), so
/// the upper band needs only the first rows of the lower. Nothing when a band would be too small for that.
std::optional<ScheduleResult> make_schedule(const LocalSegment& segment, std::int64_t bands,
                                            std::int64_t rows_per_step);

}  // namespace colonnade
