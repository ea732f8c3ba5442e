// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace colonnade {

/// All threads of a run meet here: a bounded spin, then sleep. Release on arrival, acquire on departure: what any
/// thread wrote before it, every thread sees after it.
class Barrier {
 public:
  /// Waits until `threads` have come. False for all of them when one came with `stop`.
  bool wait(int threads, bool stop = false);

 private:
  static constexpr std::uint32_t kStopped = 1, kGeneration = 2;

  alignas(64) std::atomic<int> arrived_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  std::atomic<int> sleepers_{0};
};

}  // namespace colonnade
