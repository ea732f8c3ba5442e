// SPDX-License-Identifier: Apache-2.0
// The lines of a tensor along one axis, as threads share them.
#pragma once

#include <optional>

#include "families/shared.hpp"
#include "kernels/lines/lines.hpp"
#include "reference/indexing.hpp"

namespace colonnade {

std::optional<kernels::lines::Type> line_type(DType dtype);

/// Lines side by side: the first element of the first one, and how many there are.
struct LineGroup {
  std::int64_t first = 0, columns = 1;
};

/// Lines in groups that kernels take at a time.
class LineGroups {
 public:
  explicit LineGroups(const reference::AxisView& view) : view_(view) {}

  Shared shared() const { return {view_.inner == 1 ? groups(view_.outer) : view_.outer * groups(view_.inner)}; }
  LineGroup group(std::int64_t index) const {
    if (view_.inner == 1) return {index * kLines * view_.size, std::min(kLines, view_.outer - index * kLines)};
    const std::int64_t outer = index / groups(view_.inner), begin = index % groups(view_.inner) * kColumns;
    return {outer * view_.size * view_.inner + begin, std::min(kColumns, view_.inner - begin)};
  }
  /// For kernels: steps and sizes of every group.
  kernels::lines::LineArgs args() const {
    kernels::lines::LineArgs args;
    args.size = static_cast<std::size_t>(view_.size);
    args.row_step = view_.inner;
    args.column_step = view_.inner == 1 ? view_.size : 1;
    return args;
  }

 private:
  static constexpr std::int64_t kLines = 8, kColumns = kernels::lines::kMostColumns;
  std::int64_t groups(std::int64_t count) const {
    const std::int64_t size = view_.inner == 1 ? kLines : kColumns;
    return (count + size - 1) / size;
  }

  reference::AxisView view_;
};

}  // namespace colonnade
