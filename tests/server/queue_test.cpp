// SPDX-License-Identifier: Apache-2.0
// Which of the waiting requests run next, on paper: times are given, nothing runs.
#include "frontends/server/queue.hpp"

#include <gtest/gtest.h>

namespace colonnade::serve {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

const Clock::time_point kFirst = Clock::time_point() + std::chrono::hours(1);

struct JobOptions {
  std::int64_t samples = 1;
  std::int64_t width = 4;
  std::uint32_t priority = 0;
  microseconds timeout{0};
  Clock::time_point now = kFirst;
  std::stop_token stop = {};
};

JobPtr make_job(const std::string& id, const JobOptions& options = {}) {
  auto job = std::make_unique<Job>();
  job->request.id = id;
  job->request.priority = options.priority;
  job->request.timeout = options.timeout;
  job->request.received = options.now;
  job->request.stop = options.stop;
  job->inputs.emplace_back(DType::f32, Shape{options.samples, options.width}, nullptr);
  job->samples = options.samples;
  job->queued = options.now;
  return job;
}

class QueueTest : public ::testing::Test {
 protected:
  void push(Queue& queue, const std::string& id, const JobOptions& options = {}) {
    JobPtr job = make_job(id, options);
    EXPECT_FALSE(queue.push(job, gone)) << id;
  }

  std::string take(Queue& queue, Clock::time_point now = kFirst, std::size_t runs = 1) {
    return ids(queue.take(now, runs, gone));
  }

  static std::string ids(const std::vector<JobPtr>& jobs) {
    std::string text;
    for (const JobPtr& job : jobs) text += job->request.id;
    return text;
  }

  std::vector<JobPtr> gone;
};

QueuePolicy batches_of(std::int64_t most) {
  QueuePolicy policy;
  policy.largest_batch = most;
  return policy;
}

TEST_F(QueueTest, WhoTakesMaySayWhichSizesFit) {
  Queue queue(batches_of(4));
  EXPECT_EQ(queue.first(), nullptr);
  for (const char* id : {"a", "b", "c", "d"}) push(queue, id);
  EXPECT_EQ(queue.first()->request.id, "a");
  const auto fits = [](const Job&, std::int64_t samples) { return samples <= 2; };
  EXPECT_EQ(ids(queue.take(kFirst, 1, gone, fits)), "ab");
}

TEST_F(QueueTest, RequestsOfAModelWithoutBatchesLeaveOneByOne) {
  Queue queue{QueuePolicy()};
  push(queue, "a");
  push(queue, "b");
  EXPECT_EQ(take(queue), "a");
  EXPECT_EQ(take(queue), "b");
  EXPECT_EQ(take(queue), "");
  EXPECT_FALSE(queue.is_ready(kFirst));
}

TEST_F(QueueTest, BatchesHaveRoundSizesAndEqualShapes) {
  Queue queue(batches_of(8));
  for (const char* id : {"a", "b", "c"}) push(queue, id);
  push(queue, "x", {.width = 5});
  push(queue, "d");
  push(queue, "e");
  EXPECT_EQ(take(queue), "abcd");  // five fit, four are round; x has another shape
  EXPECT_EQ(take(queue), "x");
  EXPECT_EQ(take(queue), "e");
  EXPECT_EQ(queue.size(), 0u);
}

TEST_F(QueueTest, ABatchHoldsNoMoreSamplesThanItMay) {
  Queue queue(batches_of(4));
  push(queue, "a", {.samples = 2});
  push(queue, "b", {.samples = 2});
  push(queue, "c", {.samples = 2});
  push(queue, "d", {.samples = 9});  // alone it may be larger
  EXPECT_EQ(take(queue), "ab");
  EXPECT_EQ(take(queue), "c");
  EXPECT_EQ(take(queue), "d");
}

TEST_F(QueueTest, WorkIsSpreadWhileStreamsAreIdle) {
  Queue queue(batches_of(8));
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g", "h"}) push(queue, id);
  EXPECT_EQ(take(queue, kFirst, 4), "ab");
  EXPECT_EQ(take(queue, kFirst, 3), "cd");
  EXPECT_EQ(take(queue, kFirst, 1), "efgh");
}

TEST_F(QueueTest, ABatchWaitsForOthersUntilItsDelayIsOver) {
  QueuePolicy policy = batches_of(4);
  policy.delay = milliseconds(5);
  Queue queue(policy);
  push(queue, "a");
  EXPECT_FALSE(queue.is_ready(kFirst + milliseconds(4)));
  EXPECT_EQ(queue.alarm(kFirst), kFirst + milliseconds(5));
  EXPECT_TRUE(queue.is_ready(kFirst + milliseconds(5)));
  for (const char* id : {"b", "c", "d"}) push(queue, id);
  EXPECT_TRUE(queue.is_ready(kFirst));  // it is full
  EXPECT_EQ(take(queue, kFirst, 4), "abcd");
}

TEST_F(QueueTest, APreferredSizeNeedNotWait) {
  QueuePolicy policy = batches_of(6);
  policy.delay = milliseconds(5);
  policy.preferred = {3, 6};
  Queue queue(policy);
  push(queue, "a");
  push(queue, "b");
  EXPECT_FALSE(queue.is_ready(kFirst));
  push(queue, "c");
  EXPECT_TRUE(queue.is_ready(kFirst));
  EXPECT_EQ(take(queue), "abc");
}

TEST_F(QueueTest, WhatABatchLeavesBehindHasAnAlarmOfItsOwn) {
  QueuePolicy policy = batches_of(8);
  policy.delay = milliseconds(300);
  policy.preferred = {4, 8};
  Queue queue(policy);
  for (int i = 0; i < 3; ++i) push(queue, std::to_string(i), {.now = kFirst + i * milliseconds(100)});
  const Clock::time_point ripe = queue.alarm(kFirst + milliseconds(200));
  EXPECT_EQ(ripe, kFirst + milliseconds(300));
  EXPECT_EQ(take(queue, ripe), "01");
  EXPECT_EQ(queue.alarm(ripe), kFirst + milliseconds(500));
  EXPECT_EQ(take(queue, ripe), "");  // alone it waits for others
  EXPECT_EQ(take(queue, kFirst + milliseconds(500)), "2");
  EXPECT_EQ(queue.alarm(ripe), Clock::time_point::max());
}

TEST_F(QueueTest, WhoIsLessUrgentWaitsForOthersNoLonger) {
  QueuePolicy policy = batches_of(4);
  policy.delay = milliseconds(5);
  policy.levels.resize(2);
  Queue queue(policy);
  push(queue, "low", {.priority = 2});
  const Clock::time_point later = kFirst + milliseconds(4);
  push(queue, "high", {.priority = 1, .now = later});
  EXPECT_EQ(queue.alarm(later), kFirst + milliseconds(5));
  EXPECT_EQ(take(queue, kFirst + milliseconds(5)), "high");
  EXPECT_EQ(take(queue, kFirst + milliseconds(5)), "low");
}

TEST_F(QueueTest, WhoHasLeftIsNoticedWithoutARun) {
  Queue queue{QueuePolicy()};
  std::stop_source client;
  push(queue, "a", {.stop = client.get_token()});
  push(queue, "b");
  client.request_stop();
  const Clock::time_point look = queue.alarm(kFirst);
  EXPECT_EQ(look, kFirst + kLeaversStep);
  queue.expire(look, gone);
  EXPECT_EQ(ids(gone), "a");
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.alarm(look), Clock::time_point::max());  // of the other nobody can leave
}

TEST_F(QueueTest, WhatIsNoFasterTogetherRunsApart) {
  QueuePolicy policy = batches_of(8);
  policy.merge_if_faster = true;
  Queue queue(policy);
  const auto measure = [&](std::int64_t samples, milliseconds took) {
    for (int i = 0; i < 4; ++i) queue.learn(samples, took);
  };
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g", "h"}) push(queue, id);
  EXPECT_EQ(take(queue), "a");  // not even one alone was measured
  measure(1, milliseconds(10));
  EXPECT_EQ(take(queue), "bc");  // a trial
  measure(2, milliseconds(12));
  EXPECT_EQ(take(queue), "defg");
  measure(4, milliseconds(24));  // six each, as with two
  EXPECT_EQ(take(queue), "h");
  for (const char* id : {"i", "j", "k", "l"}) push(queue, id);
  EXPECT_EQ(take(queue), "ij");
}

TEST_F(QueueTest, UrgentLevelsGoFirst) {
  QueuePolicy policy;
  policy.levels.resize(3);
  policy.default_level = 2;
  Queue queue(policy);
  push(queue, "low", {.priority = 3});
  push(queue, "usual");
  push(queue, "unknown", {.priority = 9});
  push(queue, "high", {.priority = 1});
  EXPECT_EQ(take(queue), "high");
  EXPECT_EQ(take(queue), "usual");
  EXPECT_EQ(take(queue), "unknown");
  EXPECT_EQ(take(queue), "low");
}

TEST_F(QueueTest, AFullLevelRefuses) {
  QueuePolicy policy;
  policy.levels[0].most = 2;
  Queue queue(policy);
  std::stop_source client;
  push(queue, "a", {.stop = client.get_token()});
  push(queue, "b");
  JobPtr job = make_job("c");
  const std::optional<Status> refused = queue.push(job, gone);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Code::resource_exhausted);
  EXPECT_NE(refused->message.find("Exceeds maximum queue size"), std::string::npos) << refused->message;
  ASSERT_TRUE(job);
  client.request_stop();  // who has gone makes room
  EXPECT_FALSE(queue.push(job, gone));
  EXPECT_EQ(ids(gone), "a");
  EXPECT_EQ(queue.size(), 2u);
}

TEST_F(QueueTest, WhoWaitsTooLongIsTakenOut) {
  Queue queue{QueuePolicy()};
  push(queue, "a", {.timeout = milliseconds(5)});
  push(queue, "b");
  EXPECT_EQ(queue.alarm(kFirst), kFirst + milliseconds(5));
  queue.expire(kFirst + milliseconds(4), gone);
  EXPECT_TRUE(gone.empty());
  queue.expire(kFirst + milliseconds(5), gone);
  ASSERT_EQ(ids(gone), "a");
  EXPECT_EQ(reason_of(*gone[0], kFirst + milliseconds(5)).code, Code::deadline_exceeded);
  EXPECT_EQ(queue.alarm(kFirst), Clock::time_point::max());
  EXPECT_EQ(take(queue), "b");
}

TEST_F(QueueTest, TimeoutsOfALevelMayDelayAndForbidOthers) {
  QueuePolicy policy;
  policy.levels[0].timeout = milliseconds(5);
  policy.levels[0].may_override = false;
  policy.levels[0].delay = true;
  Queue queue(policy);
  push(queue, "a", {.timeout = milliseconds(1)});
  const Clock::time_point later = kFirst + milliseconds(3);
  push(queue, "b", {.now = later});
  queue.expire(later, gone);
  EXPECT_EQ(queue.alarm(later), kFirst + milliseconds(5));  // not the request's own
  queue.expire(kFirst + milliseconds(6), gone);
  EXPECT_TRUE(gone.empty());
  EXPECT_EQ(take(queue, kFirst + milliseconds(6)), "b");
  EXPECT_EQ(take(queue, kFirst + milliseconds(6)), "a");  // late, but not lost
}

TEST_F(QueueTest, CancelledRequestsNeverRun) {
  Queue queue(batches_of(4));
  std::stop_source client;
  push(queue, "a", {.stop = client.get_token()});
  push(queue, "b");
  push(queue, "c", {.stop = client.get_token()});
  push(queue, "d");
  client.request_stop();
  EXPECT_EQ(take(queue), "bd");
  EXPECT_EQ(ids(gone), "a");
  EXPECT_EQ(reason_of(*gone[0], kFirst).code, Code::cancelled);
  EXPECT_EQ(take(queue), "");
  EXPECT_EQ(ids(gone), "ac");
}

}  // namespace
}  // namespace colonnade::serve
