// SPDX-License-Identifier: Apache-2.0
// The order in which one segment's rows are computed, and what must be kept for it: bands, steps, ring rows. Found by
// simulating the walk down the rows.
#pragma once

#include <optional>
#include <vector>

#include "plan/plan.hpp"
#include "plan/row_maps.hpp"
#include "topology/shares.hpp"

namespace colonnade {

/// An edge inside a segment: the producing node and the rows of it that each output row needs.
struct LocalInput {
  LocalIndex producer{};
  const RowMap* map = nullptr;
};

/// One of the chunk groups of a segment or of a graph.
enum class GroupIndex : std::int32_t {};
inline constexpr GroupIndex kNoGroup{-1};
using LocalChunks = Chunks<LocalIndex>;

/// One segment as the scheduler sees it; nodes in topological order.
struct LocalNode {
  NodeIndex node{};
  std::int64_t rows = 0;
  std::int64_t granularity = 1;
  double weight = 1;            ///< share of the work, for balancing bands
  std::int64_t row_bytes = 0;   ///< of its output
  bool whole = false;           ///< its output is kept as a whole tensor
  LocalIndex host = kNotLocal;  ///< node in whose ring its output lies
  GroupIndex chunk_group = kNoGroup;
  std::vector<LocalInput> inputs;
  std::vector<LocalIndex> consumers;
};

struct LocalSegment {
  ByLocal<LocalNode> nodes;
  Indexed<GroupIndex, LocalChunks> chunk_groups;
  Shares shares = {};  ///< that bands have of its work
};

struct ScheduleResult {
  std::vector<std::vector<Step>> steps;  ///< a list a band
  std::vector<Interval> bands;           ///< of the last node
  ByLocal<std::int64_t> ring_rows;       ///< 0 where whole, the host's where there is one
  ByLocal<std::int64_t> head_rows;
  double repeated = 0;  ///< work that two bands do, as a share of the segment's
};

/// Walks `bands` bands of the segment, `rows_per_step` rows of its largest sink at a time. Skewed bands: each node's
/// rows are cut where no row above is needed below (techniques: point-to-point flags instead of recomputed halos), so
/// the upper band needs only the first rows of the lower; `twice`: it computes those of large heads itself. Nothing
/// when a band would be too small for that.
std::optional<ScheduleResult> make_schedule(const LocalSegment& segment, std::int64_t bands, std::int64_t rows_per_step,
                                            bool twice);

}  // namespace colonnade
