// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "plan/kernel_choice.hpp"
#include "plan/schedule.hpp"

namespace colonnade {

inline constexpr std::int64_t kMinStripColumns = 64;

/// Columns of its inputs that a node reads for columns of its output.
struct ColumnWindow {
  bool known = false;  ///< false: its family does not run on part of a row
  std::int64_t width = 1;
  std::int64_t kernel = 1, stride = 1, dilation = 1, pad = 0;
  bool residual = false;   ///< another input is read at the output's columns
  std::int64_t grain = 4;  ///< strips start at multiples of it: of Winograd's tiles
};
std::vector<ColumnWindow> column_windows(const Graph& graph, const std::vector<KernelChoice>& choices);

/// Columns of an input `width` wide that output columns `out` of a node need.
Interval input_columns(const ColumnWindow& window, std::int64_t width, Interval out);
/// Columns of one of `count` strips, without halo.
Interval strip_share(const ColumnWindow& window, std::int64_t strip, std::int64_t count);
/// `columns` widened to where the kernel may start and end.
Interval strip_grain(Interval columns, const ColumnWindow& window);

/// Output columns of every node (by local index) for each of `count` strips. The sinks' widths are divided; above them
/// every node gets what its consumers read, so that neighbouring strips overlap by their halo. Nothing when a family in
/// the segment does not run on part of a row, or when strips would be too narrow.
std::optional<std::vector<std::vector<Interval>>> cut_strips(const std::vector<ColumnWindow>& windows,
                                                             const LocalSegment& segment, std::int64_t count);

}  // namespace colonnade
