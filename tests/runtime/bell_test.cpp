// SPDX-License-Identifier: Apache-2.0
// Waiting: a bounded spin, then sleep, and nobody sleeps on.
#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/wait.hpp"

namespace colonnade {
namespace {

using std::chrono::milliseconds;

milliseconds processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::duration_cast<milliseconds>(std::chrono::seconds(now.tv_sec) +
                                                  std::chrono::nanoseconds(now.tv_nsec));
}

TEST(Bell, WaitsAsleep) {
  Bell bell;
  std::atomic<bool> rung{false};
  milliseconds taken{-1};
  std::thread waiting([&] {
    const milliseconds before = processor_time();
    bell.wait_for(std::chrono::microseconds(200), [&] { return rung.load(); });
    taken = processor_time() - before;
  });
  std::this_thread::sleep_for(milliseconds(400));
  rung.store(true);
  bell.ring();
  waiting.join();
  EXPECT_GE(taken.count(), 0);
  EXPECT_LT(taken.count(), 200) << "it spins on";
}

TEST(Bell, NobodySleepsOn) {
  constexpr int kRounds = 20'000, kWaiting = 3;
  Bell bell;
  std::atomic<int> round{0}, seen{0};
  std::vector<std::thread> waiting;
  for (int k = 0; k < kWaiting; ++k)
    waiting.emplace_back([&] {
      for (int i = 1; i <= kRounds; ++i) {
        bell.wait_for(std::chrono::nanoseconds(0), [&] { return round.load() >= i; });
        seen.fetch_add(1);
      }
    });
  for (int i = 1; i <= kRounds; ++i) {
    if (i % 3 == 0)  // together, and now and then while they go to sleep
      while (seen.load() < (i - 1) * kWaiting) pause_briefly();
    round.store(i);
    bell.ring();
  }
  for (std::thread& thread : waiting) thread.join();
  EXPECT_EQ(seen.load(), kRounds * kWaiting);
}

}  // namespace
}  // namespace colonnade
