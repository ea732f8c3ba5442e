// SPDX-License-Identifier: Apache-2.0
// How threads wait for each other: a bounded spin, then sleep.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace colonnade {

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until `ready()`, for about this long at most. Answers the last ready().
template <class Ready>
bool spin_until(std::chrono::nanoseconds at_most, const Ready& ready) {
  constexpr int kRoundsAClock = 16;
  std::chrono::steady_clock::time_point end{};
  for (int round = 1; !ready(); ++round) {
    pause_briefly();
    if (round % kRoundsAClock != 0) continue;
    const auto now = std::chrono::steady_clock::now();
    if (end == std::chrono::steady_clock::time_point{}) end = now + at_most;
    if (now >= end) return ready();
  }
  return true;
}

/// Sleeps unless the word has another value, until someone wakes it; may return early.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value);
/// Wakes all that sleep on the word. The word may be gone: nobody reads it.
void wake_all(const std::atomic<std::uint32_t>& word);

}  // namespace colonnade
