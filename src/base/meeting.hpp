// SPDX-License-Identifier: Apache-2.0
// How threads count themselves where they meet: for the barrier, and for those who predict what it takes.
#pragma once

#include <algorithm>

namespace colonnade {

inline constexpr int kMostGroups = 32;

/// A line of the cache goes from thread to thread as they count on it, one after another. So many threads form groups
/// that count at the same time, each on a line of its own, and the last of each counts the group (combining trees: Yew,
/// Tzeng, Lawrie, 1987). Eight are a group: neighbours have numbers in a row, so its line mostly stays below one L3
/// cache, and up to some hundred threads no other number passes lines on much less often.
struct Meeting {
  int threads;
  int group;  ///< threads that count on one line; the last group may have fewer

  constexpr explicit Meeting(int count) : threads(count), group(8) {
    while (group * kMostGroups < count) ++group;
  }
  constexpr int groups() const { return (threads + group - 1) / group; }
  constexpr int threads_of(int number) const { return std::min(group, threads - number * group); }
  /// How often a group's line goes to another thread, one time after the other, when all come at once.
  constexpr int near_hops() const { return std::min(group, threads); }
  /// Likewise that of the groups.
  constexpr int far_hops() const { return groups() == 1 ? 0 : groups(); }
};

}  // namespace colonnade
