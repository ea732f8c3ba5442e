// SPDX-License-Identifier: Apache-2.0
// Where the rows of a segment are cut into bands.
#pragma once

#include <optional>

#include "plan/schedule.hpp"

namespace colonnade {

/// Of every node of a segment: a row, or a number of them.
using RowsOf = ByLocal<std::int64_t>;

/// A band computes the rows of a node from its start to its end. That is where the next band starts, or below where
/// both compute rows. What it reads below its end it finds in the next band's head.
struct Bands {
  Indexed<std::int64_t, RowsOf> starts, ends, heads;
  double repeated = 0;  ///< work that two bands do, as a share of the segment's
};

/// Bands of about the same work, or of as much as their threads have shares of. `twice`: rows whose heads would take
/// the most memory are computed by both bands that need them. Nothing when a band would be too small.
std::optional<Bands> cut_bands(const LocalSegment& segment, std::int64_t count, bool twice);

}  // namespace colonnade
