// SPDX-License-Identifier: Apache-2.0
#include "runtime/barrier.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/workers.hpp"

namespace colonnade::test {
namespace {

Topology machine(int limit) {
  Topology topology = fixed_topology("server-16");
  topology.cpu_quota = limit;
  return topology;
}

/// Up to eight threads count on one line, sixteen in two groups, and so do eleven, of whom the last group has three.
class Barriers : public testing::TestWithParam<int> {};

TEST_P(Barriers, LetNobodyAheadOfTheOthers) {
  const int most = GetParam(), rounds = 8000 / most;
  Workers workers(machine(most));
  Barrier barrier;
  std::vector<std::int64_t> written(static_cast<std::size_t>(most));
  std::atomic<int> wrong{0};
  workers.run(most, [&](int thread, int threads) {
    for (std::int64_t round = 1; round <= rounds; ++round) {
      if (round % 500 == thread) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the others fall asleep
      written[static_cast<std::size_t>(thread)] = round;
      barrier.wait(thread, threads);
      for (const std::int64_t other : written)
        if (other != round) wrong.fetch_add(1);
      barrier.wait(thread, threads);
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(Barriers, SayToAllThatOneStops) {
  const int most = GetParam();
  Workers workers(machine(most));
  Barrier barrier;
  std::atomic<int> wrong{0};
  workers.run(most, [&](int thread, int threads) {
    for (int round = 0; round < 300; ++round) {
      const bool stops = round % 3 == 2 && thread == round % most;
      if (barrier.wait(thread, threads, stops) != (round % 3 != 2)) wrong.fetch_add(1);
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

INSTANTIATE_TEST_SUITE_P(Threads, Barriers, testing::Values(3, 4, 11, 16));

TEST(Meeting, HasEveryThreadInAGroup) {
  EXPECT_EQ(Meeting(8).groups(), 1);
  EXPECT_EQ(Meeting(8).near_hops(), 8);
  EXPECT_EQ(Meeting(8).far_hops(), 0);
  EXPECT_EQ(Meeting(128).near_hops(), 8);
  EXPECT_EQ(Meeting(128).far_hops(), 16);
  for (int threads = 1; threads <= 2048; ++threads) {
    const Meeting meeting(threads);
    ASSERT_LE(meeting.groups(), kMostGroups);
    int all = 0;
    for (int group = 0; group < meeting.groups(); ++group) all += meeting.threads_of(group);
    ASSERT_EQ(all, threads);
    ASSERT_GT(meeting.threads_of(meeting.groups() - 1), 0);
  }
}

}  // namespace
}  // namespace colonnade::test
