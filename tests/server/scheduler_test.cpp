// SPDX-License-Identifier: Apache-2.0
// Streams and lines with runs that only pass the time.
#include "scheduler_models.hpp"

namespace colonnade::serve {
namespace {

using namespace testing;

TEST(Scheduler, AModelThatFloodsDoesNotStarveOthers) {
  Scheduler scheduler(1, 0);
  FakeModel flood(scheduler, instances(1), [](const std::stop_token&) { spend(microseconds(500)); });
  FakeModel modest(scheduler, instances(1), [](const std::stop_token&) { spend(microseconds(500)); });
  Answers many, few;
  constexpr int kMany = 600, kFew = 20;
  for (int i = 0; i < kMany; ++i) ASSERT_FALSE(flood.push(many.one()));
  for (int i = 0; i < kFew; ++i) ASSERT_FALSE(modest.push(few.one()));
  few.wait(kFew);
  EXPECT_LT(flood.done(), kMany / 2);
  many.wait(kMany);
}

TEST(Scheduler, TimeCountsNotRequests) {
  Scheduler scheduler(1, 0);
  FakeModel slow(scheduler, instances(2), [](const std::stop_token&) { spend(milliseconds(8)); });
  FakeModel fast(scheduler, instances(2), [](const std::stop_token&) { spend(microseconds(500)); });
  Answers of_slow, of_fast;
  constexpr int kSlow = 40, kFast = 60;
  for (int i = 0; i < kSlow; ++i) ASSERT_FALSE(slow.push(of_slow.one()));
  for (int i = 0; i < kFast; ++i) ASSERT_FALSE(fast.push(of_fast.one()));
  of_fast.wait(kFast);
  // Equal shares of time let about one slow run pass for sixteen fast ones.
  EXPECT_LT(slow.done(), kSlow / 2);
  of_slow.wait(kSlow);
}

TEST(Scheduler, AModelOfWhichNothingRunsNeedNotWaitForLongRuns) {
  Scheduler scheduler(2, 0);
  Gate gate;
  FakeModel slow(scheduler, instances(4), [&](const std::stop_token&) { gate.pass(); });
  FakeModel fast(scheduler, instances(4), [](const std::stop_token&) {});
  Answers of_slow, of_fast;
  for (int i = 0; i < 8; ++i) ASSERT_FALSE(slow.push(of_slow.one()));
  gate.wait_for_visitors(2);
  for (int i = 0; i < 20; ++i) ASSERT_FALSE(fast.push(of_fast.one()));
  of_fast.wait(20);  // while both streams are taken
  EXPECT_EQ(slow.done(), 0);
  EXPECT_EQ(slow.most_running(), 2);
  EXPECT_EQ(fast.most_running(), 1);
  gate.open();
  of_slow.wait(8);
}

TEST(Scheduler, RunsShareTheMachineWithThoseBesideThem) {
  Scheduler scheduler(4, 0);
  Gate gate;
  FakeModel model(scheduler, instances(4), [&](const std::stop_token&) { gate.pass(); });
  Answers answers;
  for (int i = 1; i <= 3; ++i) {
    ASSERT_FALSE(model.push(answers.one()));
    gate.wait_for_visitors(i);
  }
  EXPECT_EQ(model.parts(), (std::vector<int>{1, 2, 4}));
  gate.open();
  answers.wait(3);
}

TEST(Scheduler, WhatCannotRunBesideARunLeavesItTheMachine) {
  Scheduler scheduler(4, 0);
  Gate gate;
  FakeModel model(scheduler, instances(1), [&](const std::stop_token&) { gate.pass(); });
  Answers answers;
  for (int i = 0; i < 8; ++i) ASSERT_FALSE(model.push(answers.one()));
  gate.open();
  answers.wait(8);
  EXPECT_EQ(model.parts(), std::vector<int>(8, 1));
}

/// Pushes until a run was done by the thread that pushed: how long runs take must be learned, on a machine that may be
/// busy.
void push_until_run_here(FakeModel& model, const std::atomic<std::thread::id>& ran_in) {
  Answers answers;
  for (int i = 1; i <= 10000; ++i) {
    ASSERT_FALSE(model.push(answers.one()));
    answers.wait(i);
    if (ran_in == std::this_thread::get_id()) return;
  }
  FAIL() << "no run was done by the thread that pushed";
}

TEST(Scheduler, BriefRunsAreDoneByTheThreadThatPushes) {
  Scheduler scheduler(2, 0);
  std::atomic<std::thread::id> ran_in;
  FakeModel model(scheduler, instances(2), [&](const std::stop_token&) { ran_in = std::this_thread::get_id(); });
  push_until_run_here(model, ran_in);
}

TEST(Scheduler, LongRunsAreNotDoneByTheThreadThatPushes) {
  Scheduler scheduler(2, 0);
  std::atomic<int> here{0};
  const std::thread::id self = std::this_thread::get_id();
  FakeModel model(scheduler, instances(2), [&](const std::stop_token&) {
    if (std::this_thread::get_id() == self) ++here;
    spend(milliseconds(1));
  });
  Answers answers;
  for (int i = 1; i <= 50; ++i) {
    ASSERT_FALSE(model.push(answers.one()));
    answers.wait(i);
  }
  EXPECT_EQ(here, 0);
}

TEST(Scheduler, AThreadThatPushesLeavesManyBriefRunsToTheStreams) {
  Scheduler scheduler(1, 0);
  std::atomic<std::thread::id> ran_in;
  std::atomic<int> here{0};
  std::atomic<bool> more{false};
  constexpr int kMore = 100;
  Answers answers;
  FakeModel* model = nullptr;
  const std::thread::id self = std::this_thread::get_id();
  FakeModel brief(scheduler, instances(1), [&](const std::stop_token&) {
    ran_in = std::this_thread::get_id();
    if (ran_in != self) return;
    ++here;
    // They wait, as the only stream is taken.
    for (int i = more.exchange(false) ? kMore : 0; i > 0; --i) {
      EXPECT_FALSE(model->push(answers.one()));
    }
  });
  model = &brief;
  push_until_run_here(brief, ran_in);
  more = true;
  int pushed = kMore;
  for (; more; ++pushed) {
    here = 0;
    ASSERT_FALSE(brief.push(answers.one()));
  }
  answers.wait(pushed);
  EXPECT_GT(here, 0);
  EXPECT_LT(here, kMore / 2);
}

TEST(Scheduler, NoMoreRunsThanInstances) {
  Scheduler scheduler(4, 0);
  FakeModel model(scheduler, instances(2), [](const std::stop_token&) { spend(milliseconds(1)); });
  Answers answers;
  for (int i = 0; i < 40; ++i) ASSERT_FALSE(model.push(answers.one()));
  answers.wait(40);
  EXPECT_LE(model.most_running(), 2);
}

TEST(Scheduler, RequestsThatWaitTogetherRunTogether) {
  Scheduler scheduler(1, 0);
  Gate gate;
  std::atomic<bool> first{true};
  QueuePolicy policy = instances(1);
  policy.largest_batch = 8;
  FakeModel model(scheduler, policy, [&](const std::stop_token&) {
    if (first.exchange(false)) gate.pass();
  });
  Answers answers;
  ASSERT_FALSE(model.push(answers.one()));
  gate.wait_for_visitors(1);
  for (int i = 0; i < 16; ++i) ASSERT_FALSE(model.push(answers.one()));
  gate.open();
  answers.wait(17);
  EXPECT_EQ(model.runs(), 3);
}

TEST(Scheduler, ADelayedBatchStartsByItself) {
  Scheduler scheduler(2, 0);
  QueuePolicy policy = instances(1);
  policy.largest_batch = 8;
  policy.delay = milliseconds(2);
  FakeModel model(scheduler, policy, [](const std::stop_token&) {});
  Answers answers;
  ASSERT_FALSE(model.push(answers.one()));
  answers.wait(1);
  for (int i = 0; i < 8; ++i) ASSERT_FALSE(model.push(answers.one()));
  answers.wait(9);
  EXPECT_GE(model.runs(), 2);
}

TEST(Scheduler, WhatABatchLeavesBehindStartsByItself) {
  Scheduler scheduler(2, 0);
  QueuePolicy policy = instances(1);
  policy.largest_batch = 8;
  policy.preferred = {4, 8};
  policy.delay = milliseconds(90);
  FakeModel model(scheduler, policy, [](const std::stop_token&) {});
  Answers answers;
  for (int i = 0; i < 3; ++i) {
    if (i > 0) spend(milliseconds(30));
    ASSERT_FALSE(model.push(answers.one()));
  }
  EXPECT_TRUE(answers.arrive(3)) << answers.total();
  scheduler.cancel_all({Code::unavailable, "the end"});
}

TEST(Scheduler, WhoHasLeftIsLetGoWhileStreamsAreBusy) {
  Scheduler scheduler(1, 0);
  Gate gate;
  FakeModel model(scheduler, instances(1), [&](const std::stop_token&) { gate.pass(); });
  Answers first, second;
  ASSERT_FALSE(model.push(first.one()));
  gate.wait_for_visitors(1);
  std::stop_source client;
  ASSERT_FALSE(model.push(second.one(), {}, client.get_token()));
  EXPECT_EQ(scheduler.pending(), 1u);
  client.request_stop();
  EXPECT_TRUE(second.arrive(1));  // the gate is still closed
  EXPECT_EQ(second.failed(Code::cancelled), 1);
  EXPECT_EQ(scheduler.pending(), 0u);
  gate.open();
  first.wait(1);
}

TEST(Scheduler, TimeoutsAreToldWhileStreamsAreBusy) {
  Scheduler scheduler(1, 0);
  Gate gate;
  FakeModel model(scheduler, instances(1), [&](const std::stop_token&) { gate.pass(); });
  Answers first, second;
  ASSERT_FALSE(model.push(first.one()));
  gate.wait_for_visitors(1);
  ASSERT_FALSE(model.push(second.one(), milliseconds(3)));
  second.wait(1);  // the gate is still closed
  EXPECT_EQ(second.failed(Code::deadline_exceeded), 1);
  gate.open();
  first.wait(1);
}

TEST(Scheduler, AllLinesTogetherHoldNoMoreThanTheyMay) {
  Scheduler scheduler(1, 3);
  Gate gate;
  FakeModel a(scheduler, instances(1), [&](const std::stop_token&) { gate.pass(); });
  FakeModel b(scheduler, instances(1), [&](const std::stop_token&) { gate.pass(); });
  Answers answers;
  ASSERT_FALSE(a.push(answers.one()));
  ASSERT_FALSE(b.push(answers.one()));
  gate.wait_for_visitors(2);
  for (int i = 0; i < 3; ++i) ASSERT_FALSE(a.push(answers.one()));
  const std::optional<Status> refused = b.push(answers.one());
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Code::resource_exhausted);
  gate.open();
  answers.wait(5);
}

TEST(Scheduler, ClosingALineAnswersWhatItHas) {
  Scheduler scheduler(2, 0);
  FakeModel model(scheduler, instances(1), [](const std::stop_token&) { spend(milliseconds(1)); });
  Answers answers;
  for (int i = 0; i < 20; ++i) ASSERT_FALSE(model.push(answers.one()));
  model.close();
  EXPECT_EQ(answers.total(), 20);
  const std::optional<Status> refused = model.push(answers.one());
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Code::unavailable);
}

TEST(Scheduler, DrainingLosesNothingAndTakesNothing) {
  Scheduler scheduler(2, 0);
  FakeModel model(scheduler, instances(2), [](const std::stop_token&) { spend(microseconds(200)); });
  Answers answers;
  std::atomic<int> accepted{0}, refused{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&] {
      while (refused < 100) ++(model.push(answers.one()) ? refused : accepted);
    });
  answers.wait(50);
  EXPECT_TRUE(scheduler.drain(Clock::time_point::max()));
  const int total = answers.total();
  EXPECT_EQ(total, model.done());
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answers.total(), total);
  EXPECT_EQ(accepted, total);
}

TEST(Scheduler, WhatDoesNotDrainIsCancelled) {
  Scheduler scheduler(1, 0);
  std::atomic<bool> running{false};
  FakeModel model(scheduler, instances(1), [&](const std::stop_token& stop) {
    running = true;
    while (!stop.stop_requested()) spend(microseconds(100));
  });
  Answers answers;
  for (int i = 0; i < 5; ++i) ASSERT_FALSE(model.push(answers.one()));
  while (!running) spend(microseconds(100));
  EXPECT_FALSE(scheduler.drain(Clock::now() + milliseconds(5)));
  scheduler.cancel_all({Code::unavailable, "the end"});
  EXPECT_TRUE(scheduler.drain(Clock::time_point::max()));
  EXPECT_EQ(answers.total(), 5);
  EXPECT_EQ(answers.failed(Code::unavailable), 4);
}

}  // namespace
}  // namespace colonnade::serve
