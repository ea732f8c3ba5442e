// SPDX-License-Identifier: Apache-2.0
// Runs that are started and not waited for.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "api/runs.hpp"
#include "colonnade/colonnade.hpp"

namespace colonnade::test {
namespace {

using namespace std::chrono_literals;

Tensor picture(int seed) {
  Tensor tensor(DType::f32, {1, 1, 28, 28});
  auto values = tensor.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(seed) * 13) % 17) / 17;
  return tensor;
}

Tensor answer_of(const Model& model, const Tensor& input) {
  Session session(model);
  const TensorView view = input;
  return std::move(session.run({&view, 1}).front());
}

TEST(RunAsync, FuturesAnswerAsRunsDo) {
  const Model model = Model::embedded("digits", one_thread());
  Session session(model);
  std::vector<Tensor> inputs;
  for (int seed = 0; seed < 8; ++seed) inputs.push_back(picture(seed));
  std::vector<std::future<std::vector<Tensor>>> futures;
  for (const Tensor& input : inputs) futures.push_back(session.run_async({TensorView(input)}));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(same_bits(futures[i].get().front(), answer_of(model, inputs[i])));
}

TEST(RunAsync, ErrorsComeWithTheFuture) {
  Session session(Model::embedded("digits", one_thread()));
  const Tensor wrong(DType::f32, {28, 28}), right = picture(1);
  auto failed = session.run_async({TensorView(wrong)});
  auto fine = session.run_async({TensorView(right)});
  try {
    failed.get();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
  }
  EXPECT_EQ(fine.get().size(), 1u);
  EXPECT_THROW(session.run_async({TensorView(right)}, {}, nullptr), Error);
}

TEST(RunAsync, RunsOfASessionFollowEachOther) {
  const Model model = Model::embedded("digits", one_thread());
  const Tensor input = picture(3);
  constexpr int kRuns = 50;
  std::vector<int> order;  // no lock: one after another, and the destructor waits
  std::vector<Tensor> outputs(kRuns, Tensor(DType::f32, {1, 10}));
  {
    Session session(model);
    for (int run = 0; run < kRuns; ++run)
      session.run_async({TensorView(input)}, {MutableTensorView(outputs[static_cast<std::size_t>(run)])},
                        [&order, run](const std::exception_ptr& error) {
                          EXPECT_EQ(error, nullptr);
                          order.push_back(run);
                        });
  }
  ASSERT_EQ(order.size(), static_cast<std::size_t>(kRuns));
  for (int run = 0; run < kRuns; ++run) EXPECT_EQ(order[static_cast<std::size_t>(run)], run);
  const Tensor expected = answer_of(model, input);
  for (const Tensor& output : outputs) EXPECT_TRUE(same_bits(output, expected));
}

TEST(RunAsync, WaitsWithRunAndQuestions) {
  Session session(Model::embedded("digits", one_thread()));
  const Tensor input = picture(3);
  const TensorView view = input;
  std::atomic<bool> over{false};
  Tensor output(DType::f32, {1, 10});
  session.run_async({view}, {MutableTensorView(output)}, [&](const std::exception_ptr&) {
    std::this_thread::sleep_for(30ms);
    over = true;
  });
  session.run({&view, 1});
  EXPECT_TRUE(over) << "run comes after what was started before";
  over = false;
  session.run_async({view}, {MutableTensorView(output)}, [&](const std::exception_ptr&) {
    std::this_thread::sleep_for(30ms);
    over = true;
  });
  EXPECT_GT(session.stats().cached_plans, 0u);
  EXPECT_TRUE(over);
}

TEST(RunAsync, CallbacksMayStartRuns) {
  const Model model = Model::embedded("digits", one_thread());
  const Tensor input = picture(5);
  const TensorView view = input;
  Tensor output(DType::f32, {1, 10});
  Session session(model);
  std::promise<int> last;
  std::function<void(int)> start = [&](int left) {
    session.run_async({view}, {MutableTensorView(output)}, [&, left](const std::exception_ptr&) {
      session.run({&view, 1});
      if (left == 0) return last.set_value(left);
      start(left - 1);
    });
  };
  start(5);
  EXPECT_EQ(last.get_future().get(), 0);
}

TEST(RunAsync, SessionsRunSideBySide) {
  const Model model = Model::embedded("digits", one_thread());
  const Tensor input = picture(6);
  const Tensor expected = answer_of(model, input);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      Session session(model);
      for (int round = 0; round < 20; ++round)
        if (same_bits(session.run_async({TensorView(input)}).get().front(), expected)) ++right;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
}

TEST(RunAsync, AMovedSessionKeepsItsRuns) {
  const Model model = Model::embedded("digits", one_thread());
  const Tensor input = picture(7);
  Session first(model);
  auto future = first.run_async({TensorView(input)});
  Session second = std::move(first);
  EXPECT_TRUE(same_bits(future.get().front(), answer_of(model, input)));
  auto other = second.run_async({TensorView(input)});
  second = Session(model);
  EXPECT_EQ(other.wait_for(0s), std::future_status::ready) << "the session that went had to wait";
}

TEST(RunAsync, AStoppedRunIsCancelled) {
  Session session(Model::embedded("digits", one_thread()));
  const Tensor input = picture(2);
  std::stop_source stop;
  stop.request_stop();
  RunOptions options;
  options.stop = stop.get_token();
  try {
    session.run_async({TensorView(input)}, options).get();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled);
  }
  options = {};
  options.deadline = std::chrono::steady_clock::now() - 1ms;
  EXPECT_THROW(session.run_async({TensorView(input)}, options).get(), Error);
  EXPECT_EQ(session.run_async({TensorView(input)}).get().size(), 1u);
}

TEST(RunAsync, AForkedProcessRunsToo) {
#if defined(COLONNADE_TSAN)
  GTEST_SKIP() << "the thread sanitizer does not follow forks";
#endif
  const Model model = Model::embedded("digits", one_thread());
  const Tensor input = picture(4);
  Session session(model);
  const Tensor expected = std::move(session.run_async({TensorView(input)}).get().front());
  session.memory_stats();  // waits until the queue is empty
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    const bool same = same_bits(session.run_async({TensorView(input)}).get().front(), expected);
    Session fresh(model);
    _exit(same && same_bits(fresh.run_async({TensorView(input)}).get().front(), expected) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(same_bits(session.run_async({TensorView(input)}).get().front(), expected));
}

}  // namespace
}  // namespace colonnade::test
