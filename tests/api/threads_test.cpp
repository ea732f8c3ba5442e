// SPDX-License-Identifier: Apache-2.0
// Runs that are cancelled, late or loop too long; sessions of many threads; memory given back.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "api/impl.hpp"
#include "api/runs.hpp"
#include "colonnade/colonnade.hpp"
#include "onnx/builder.hpp"

namespace colonnade::test {
namespace {

using onnx_import::testing::attribute;
using onnx_import::testing::ModelBuilder;
using std::chrono::steady_clock;

Options on(int threads) {
  Options options;
  options.threads = threads;
  return options;
}

void expect_code(ErrorCode code, const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "went through";
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
  }
}

/// s doubles `n` times.
std::string doubling_model() {
  ModelBuilder body(0);
  body.input("i", {1}, onnx::TensorProto::INT64).input("go", {1}, onnx::TensorProto::BOOL).input("a", {2});
  body.node("Identity", {"go"}, {"on"}).node("Add", {"a", "a"}, {"b"});
  body.output("on", onnx::TensorProto::BOOL).output("b");
  ModelBuilder model;
  model.input("n", {}, onnx::TensorProto::INT64).input("s", {2}).output("last");
  model.node("Loop", {"n", "", "s"}, {"last"}, {attribute("body", body.proto.graph())});
  return model.bytes();
}

struct Doubling {
  explicit Doubling(std::int64_t count) : trips(DType::i64, {}), state(DType::f32, {2}) {
    trips.values<std::int64_t>()[0] = count;
    state.values<float>()[0] = 1;
  }
  float run(Session& session, const RunOptions& options = {}) const {
    const TensorView views[] = {trips, state};
    return session.run(views, options).front().values<float>()[0];
  }
  Tensor trips, state;
};

TEST(Run, LoopsKeepToTheirLimit) {
  const Model model = Model::from_bytes(onnx_import::testing::as_bytes(doubling_model()));
  Session session(model);
  EXPECT_EQ(Doubling(5).run(session, {.loop_limit = 5}), 32);
  EXPECT_EQ(Doubling(5).run(session), 32);
  expect_code(ErrorCode::resource_limit, [&] { Doubling(6).run(session, {.loop_limit = 5}); });
  EXPECT_EQ(Doubling(5).run(session, {.loop_limit = 5}), 32) << "the limit is a run's";
}

TEST(Run, EndlessLoopsEndByDeadlineAndByToken) {
  const Model model = Model::from_bytes(onnx_import::testing::as_bytes(doubling_model()));
  Session session(model);
  const Doubling endless(std::numeric_limits<std::int64_t>::max());
  expect_code(ErrorCode::deadline,
              [&] { endless.run(session, {.deadline = steady_clock::now() + std::chrono::milliseconds(30)}); });
  std::stop_source source;
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    source.request_stop();
  });
  expect_code(ErrorCode::cancelled, [&] { endless.run(session, {.stop = source.get_token()}); });
  EXPECT_EQ(Doubling(5).run(session), 32);
}

TEST(Run, CancelledFromAnotherThreadAtAnyTimeLeavesTheSessionUsable) {
  for (const int threads : {1, 2, 4}) {
    const Model model = Model::embedded("mobilenet", on(threads));
    Session session(model);
    const Tensor input = random_tensor({1, 3, 224, 224}, 3);
    const Tensor expected = run_one(session, input);
    const auto begin = steady_clock::now();
    run_one(session, input);
    const auto once = std::chrono::duration<double>(steady_clock::now() - begin);
    std::mt19937 random(1);
    int cancelled = 0;
    for (int round = 0; round < 30; ++round) {
      const auto delay = once * (static_cast<double>(random() % 1000) / 1000.0);
      std::stop_source source;
      std::jthread other([&] {
        std::this_thread::sleep_for(delay);
        source.request_stop();
      });
      try {
        EXPECT_TRUE(same_bits(run_one(session, input, {.stop = source.get_token()}), expected));
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::cancelled) << error.what();
        ++cancelled;
      }
      ASSERT_TRUE(same_bits(run_one(session, input), expected)) << "threads " << threads << ", round " << round;
    }
    std::stop_source source;
    source.request_stop();
    expect_code(ErrorCode::cancelled, [&] { run_one(session, input, {.stop = source.get_token()}); });
    RecordProperty("cancelled", cancelled);
  }
}

TEST(Session, ShrinkGivesArenasAndPlansBack) {
  Options options = on(2);
  options.schedule = Schedule::layers;  // columns of two images may take turns in the memory of one
  const Model model = Model::embedded("mobilenet", options);
  Session session(model);
  EXPECT_EQ(session.memory_stats().plans, 0u);
  const Tensor input = random_tensor({1, 3, 224, 224}, 3), other = random_tensor({2, 3, 224, 224}, 4);
  const Tensor expected = run_one(session, input);
  const Session::MemoryStats one = session.memory_stats();
  run_one(session, other);
  const Session::MemoryStats two = session.memory_stats();
  EXPECT_EQ(one.plans, 1u);
  EXPECT_EQ(two.plans, 2u);
  EXPECT_GT(one.arena_bytes, 0u);
  EXPECT_GT(two.arena_bytes, one.arena_bytes);
  EXPECT_GT(two.plan_bytes, one.plan_bytes);
  EXPECT_GT(one.weights_bytes, std::size_t{1} << 20);
  EXPECT_EQ(two.weights_bytes, one.weights_bytes) << "plans share the packed weights";
  {
    Session second(model);
    run_one(second, input);
    EXPECT_EQ(second.memory_stats().weights_bytes, one.weights_bytes) << "sessions share them too";
    session.shrink();
    EXPECT_EQ(session.memory_stats().plans, 0u);
    EXPECT_EQ(session.memory_stats().arena_bytes, 0u);
    EXPECT_EQ(session.memory_stats().plan_bytes, 0u);
    EXPECT_EQ(session.memory_stats().weights_bytes, one.weights_bytes) << "another session needs them";
  }
  EXPECT_EQ(session.memory_stats().weights_bytes, 0u);
  EXPECT_THROW(session.stats(), Error);
  EXPECT_TRUE(same_bits(run_one(session, input), expected));
  EXPECT_EQ(session.memory_stats().plans, 1u);
}

TEST(Run, MayHaveFewerThreadsAndThenAPlanOfItsOwn) {
  const Model model = Model::embedded("mobilenet", on(2));
  Session session(model);
  const Tensor input = random_tensor({1, 3, 224, 224}, 3);
  const Tensor expected = run_one(session, input);
  EXPECT_EQ(session.stats().threads, 2);
  EXPECT_TRUE(same_bits(run_one(session, input, {.threads = 1}), expected));
  EXPECT_EQ(session.stats().threads, 1);
  EXPECT_TRUE(same_bits(run_one(session, input, {.threads = 3}), expected));
  EXPECT_EQ(session.stats().threads, 2) << "no more than the model's";
  session.prepare({}, 1);
  EXPECT_EQ(session.stats().threads, 1);
  EXPECT_EQ(session.memory_stats().plans, 2u);
  expect_code(ErrorCode::invalid_argument, [&] { run_one(session, input, {.threads = -1}); });
}

TEST(Model, KeepsOneCopyOfTheWeightsANode) {
  const Model model = Model::embedded("mobilenet", on(2));
  const Model::Impl& impl = *model.impl();
  const std::vector<Shape> shapes = {{1, 3, 224, 224}};
  const auto first = impl.prepare({impl.optimized, shapes, {}, 0, impl.threads}),
             second = impl.prepare({impl.optimized, shapes, {}, 1, impl.threads}),
             again = impl.prepare({impl.optimized, shapes, {}, 1, impl.threads});
  EXPECT_EQ(second, again);
  ASSERT_NE(first, second);
  ASSERT_EQ(first->program->owned.size(), second->program->owned.size());
  EXPECT_EQ(impl.weights.bytes(), 2 * static_cast<std::size_t>(first->program->weights_bytes));
  const Tensor input = random_tensor(shapes.front(), 3);
  const auto outputs_of = [&](const std::shared_ptr<const Prepared>& prepared) {
    Executor executor(prepared->program);
    Tensor output(prepared->program->output_types.front(), prepared->program->output_shapes.front());
    const void* const in[] = {input.data()};
    void* const out[] = {output.data()};
    executor.run(in, out);
    return output;
  };
  EXPECT_TRUE(same_bits(outputs_of(first), outputs_of(second)));
}

TEST(Session, ReadsTheWeightsOfItsNode) {
  Options options = on(2);
  options.numa = "replicate";
  const Model model = Model::embedded("mobilenet", options);
  Session session(model), plain(Model::embedded("mobilenet", on(2)));
  const Tensor input = random_tensor({1, 3, 224, 224}, 3);
  EXPECT_TRUE(same_bits(run_one(session, input), run_one(plain, input)));
  EXPECT_EQ(session.memory_stats().weights_bytes, plain.memory_stats().weights_bytes) << "all ran on one node";
}

TEST(Session, ManyThreadsWithSessionsOfTheirOwnAgree) {
  const Model model = Model::embedded("mobilenet", on(4));
  const Tensor input = random_tensor({1, 3, 224, 224}, 3);
  Session first(model);
  const Tensor expected = run_one(first, input);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&, i] {
      Session session(model);
      for (int round = 0; round < 8; ++round) {
        std::stop_source source;
        std::jthread other;
        if (i % 2 == 1)
          other = std::jthread([&] {
            std::this_thread::yield();
            source.request_stop();
          });
        try {
          EXPECT_TRUE(same_bits(run_one(session, input, {.stop = source.get_token()}), expected));
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::cancelled) << error.what();
        }
      }
      EXPECT_TRUE(same_bits(run_one(session, input), expected));
    });
}

}  // namespace
}  // namespace colonnade::test
