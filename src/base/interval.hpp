// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace colonnade {

/// Rows [begin, end); empty when begin >= end.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return std::max<std::int64_t>(0, end - begin); }
  bool empty() const { return begin >= end; }
  bool operator==(const Interval&) const = default;
};

inline Interval intersect(Interval a, Interval b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

/// The smallest interval that holds both; an empty one counts for nothing.
inline Interval hull(Interval a, Interval b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

}  // namespace colonnade
