// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "families/family.hpp"
#include "plan/schedule.hpp"

namespace colonnade {

inline constexpr std::int64_t kMinStripColumns = 64;

ByNode<ColumnWindow> column_windows(const Graph& graph, const ByNode<Choice>& choices);

/// Columns of an input `width` wide that output columns `out` of a node need.
Interval input_columns(const ColumnWindow& window, std::int64_t width, Interval out);
/// Columns of one of `count` strips, without halo.
Interval strip_share(const ColumnWindow& window, std::int64_t strip, std::int64_t count);
/// `columns` widened to where the kernel may start and end.
Interval strip_grain(Interval columns, const ColumnWindow& window);

/// Output columns of every node for each of `count` strips. The sinks' widths are divided; above them
/// every node gets what its consumers read, so that neighbouring strips overlap by their halo. Nothing when a family in
/// the segment does not run on part of a row, or when strips would be too narrow.
std::optional<std::vector<ByLocal<Interval>>> cut_strips(const ByNode<ColumnWindow>& windows,
                                                         const LocalSegment& segment, std::int64_t count);

}  // namespace colonnade
