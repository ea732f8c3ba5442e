// SPDX-License-Identifier: Apache-2.0
// Workers follow the processors that the process may use while it runs.
#include "runtime/processors.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "allocations.hpp"
#include "colonnade/colonnade.hpp"
#include "runtime/workers.hpp"
#include "support/affinity.hpp"

namespace colonnade::test {
namespace {

using std::chrono::milliseconds;

/// All tests leave the process as they found it.
class ProcessorsOfProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    if (all_.size() < 2 || Workers::process().limit() < 2) GTEST_SKIP() << "needs two processors";
  }
  void TearDown() override {
    give_processors(getpid(), all_);
    soon([this] { return Workers::process().limit() == limit_; });
  }

  /// Whether something comes true within seconds; what is asked is asked again and again.
  static bool soon(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return true;
  }

  static int threads_of_run() {
    int found = 0;
    Workers::process().run(64, [&](int thread, int threads) {
      if (thread == 0) found = threads;
    });
    return found;
  }

  ProcessorSet all_ = processors_of(0);
  int limit_ = Workers::process().limit();
};

TEST_F(ProcessorsOfProcess, AreFollowedByWorkers) {
  ASSERT_EQ(threads_of_run(), limit_);
  for (int turn = 0; turn < 2; ++turn) {
    const ProcessorSet last = {*all_.rbegin()};
    give_processors(getpid(), last);
    ASSERT_TRUE(soon([] { return threads_of_run() == 1; }));
    EXPECT_EQ(Workers::process().limit(), 1);
    EXPECT_EQ(used_beside(getpid(), last), ProcessorSet()) << "a worker went back to where it was";
    give_processors(getpid(), all_);
    ASSERT_TRUE(soon([this] { return threads_of_run() == limit_; }));
  }
}

TEST_F(ProcessorsOfProcess, LeaveNoWorkersBehind) {
  threads_of_run();
  const std::size_t before = threads_of(getpid()).size();
  for (int turn = 0; turn < 3; ++turn) {
    give_processors(getpid(), {*all_.begin()});
    ASSERT_TRUE(soon([] { return threads_of_run() == 1; }));
    give_processors(getpid(), all_);
    ASSERT_TRUE(soon([this] { return threads_of_run() == limit_; }));
  }
  EXPECT_TRUE(soon([&] { return threads_of(getpid()).size() <= before; })) << threads_of(getpid()).size();
}

TEST_F(ProcessorsOfProcess, MayChangeWhileOthersRun) {
  Options options;
  options.threads = 2;
  options.duel = false;
  const Model model = Model::embedded("mobilenet", options);
  const Tensor input(model.inputs()[0].dtype, model.resolve_shapes()[0]);
  const std::vector<TensorView> inputs = {input};
  const std::vector<Tensor> expected = Session(model).run(inputs);
  std::atomic<bool> is_over{false};
  std::atomic<int> wrong{0}, runs{0};
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&] {
      Session session(model);
      while (!is_over) {
        const std::vector<Tensor> found = session.run(inputs);
        wrong += std::memcmp(found[0].data(), expected[0].data(), expected[0].byte_size()) != 0;
        ++runs;
      }
    });
  for (int turn = 0; turn < 8; ++turn) {
    const int before = runs;
    give_processors(getpid(), turn % 2 == 0 ? ProcessorSet{*all_.begin()} : all_);
    std::this_thread::sleep_for(milliseconds(130));
    EXPECT_TRUE(soon([&] { return runs > before + 3; }));
  }
  is_over = true;
  callers.clear();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ProcessorsOfProcess, SayHowManyThreadsPlansAreFor) {
  Options options;
  options.duel = false;
  const Model model = Model::embedded("mobilenet", options);
  const Tensor input(model.inputs()[0].dtype, model.resolve_shapes()[0]);
  const std::vector<TensorView> inputs = {input};
  Session session(model);
  session.run(inputs);
  const int before = session.stats().threads;
  EXPECT_GT(before, 1);
  give_processors(getpid(), {*all_.begin()});
  EXPECT_TRUE(soon([&] { return session.run(inputs), session.stats().threads == 1; }));
  give_processors(getpid(), all_);
  EXPECT_TRUE(soon([&] { return session.run(inputs), session.stats().threads == before; }));
}

TEST_F(ProcessorsOfProcess, OfOneThreadSayNothing) {
  std::jthread([this] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(*all_.begin(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const Workers* const before = &Workers::process();
    std::this_thread::sleep_for(milliseconds(250));
    EXPECT_EQ(&Workers::process(), before);
  }).join();
  EXPECT_EQ(Workers::process().limit(), limit_);
}

TEST_F(ProcessorsOfProcess, OfAThreadThatWeKeepSayNothing) {
  const Workers* const before = &Workers::process();
  before->keep_caller_on(before->node_of_caller());
  std::this_thread::sleep_for(milliseconds(250));
  EXPECT_EQ(&Workers::process(), before);
}

TEST(Processors, AcceptWhatWeDo) {
  const ProcessorSet all = processors_of(0);
  if (all.size() < 2) GTEST_SKIP() << "needs two processors";
  Processors processors;
  give_processors(getpid(), {*all.begin()});
  processors.accept_first();
  std::this_thread::sleep_for(milliseconds(150));
  EXPECT_FALSE(processors.have_changed());
  give_processors(getpid(), all);
  std::this_thread::sleep_for(milliseconds(150));
  EXPECT_FALSE(processors.have_changed()) << "these are the ones of the start";
  give_processors(getpid(), {*all.begin()});
  std::this_thread::sleep_for(milliseconds(150));
  EXPECT_TRUE(processors.have_changed());
  give_processors(getpid(), all);
}

TEST(Processors, AllocateNothingWhileNothingChanges) {
  Processors processors;
  const std::int64_t before = allocations();
  for (int look = 0; look < 2; ++look) {
    std::this_thread::sleep_for(milliseconds(150));
    EXPECT_FALSE(processors.have_changed());
    EXPECT_EQ(allocations(), before) << "look " << look;
  }
}

}  // namespace
}  // namespace colonnade::test
