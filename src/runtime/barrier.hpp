// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/meeting.hpp"

namespace colonnade {

/// All threads of a run meet here: a bounded spin, then sleep. Release on arrival, acquire on departure: what any
/// thread wrote before it, every thread sees after it. Many threads count themselves in groups (base/meeting.hpp), each
/// on a line of the cache of its own, and the last of a group counts the group.
class Barrier {
 public:
  /// Waits until all of `threads` have come, each with its number from 0. False for all of them when one came with
  /// `stop`.
  bool wait(int thread, int threads, bool stop = false);

 private:
  static constexpr std::uint32_t kStopped = 1, kGeneration = 2;
  struct alignas(64) Count {
    std::atomic<int> arrived{0};
    bool is_last(int of);
  };
  bool is_last(int thread, int threads);

  std::array<Count, kMostGroups> groups_;
  Count all_;
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  std::atomic<int> sleepers_{0};
};

}  // namespace colonnade
