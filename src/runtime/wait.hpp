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

/// Where threads sleep until another has changed something.
class Bell {
 public:
  /// Spins for about `at_most`, then sleeps, until `ready()`. What it loads, it loads sequentially consistent: whoever
  /// makes it true stores so and then rings.
  template <class Ready>
  void wait_for(std::chrono::nanoseconds at_most, const Ready& ready) {
    if (spin_until(at_most, ready)) return;
    sleepers_.fetch_add(1);
    while (true) {
      const std::uint32_t rings = rings_.load();
      if (ready()) break;
      sleep_while(rings_, rings);
    }
    sleepers_.fetch_sub(1);
  }

  void ring() {
    if (sleepers_.load() == 0) return;
    rings_.fetch_add(1);
    wake_all(rings_);
  }

 private:
  alignas(64) std::atomic<std::uint32_t> rings_{0};
  std::atomic<int> sleepers_{0};
};

}  // namespace colonnade
