// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/segment.hpp"

namespace colonnade {

/// Output columns of every node (by local index) for each of `count` strips. The sinks' widths are divided; above them
/// every node gets what its consumers read, so that neighbouring strips overlap by their halo. Nothing when a family in
/// the segment does not run on part of a row, or when strips would be too narrow.
std::optional<std::vector<std::vector<Interval>>> cut_strips(const PlanContext& context, const LocalSegment& segment,
                                                             std::int64_t count);

/// Columns computed by all strips, over the columns there are: 1 without overlap.
double recomputed_share(const PlanContext& context, const LocalSegment& segment,
                        const std::vector<std::vector<Interval>>& strips);

}  // namespace colonnade
