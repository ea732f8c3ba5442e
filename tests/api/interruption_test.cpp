// SPDX-License-Identifier: Apache-2.0
// Runs that end before they are done while plans are made, weights are packed, or another session does that.
#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "api/runs.hpp"
#include "colonnade/colonnade.hpp"
#include "onnx/builder.hpp"

namespace colonnade::test {
namespace {

using namespace std::chrono_literals;
using onnx_import::testing::as_bytes;
using onnx_import::testing::attribute;
using onnx_import::testing::ModelBuilder;
using onnx_import::testing::raw_tensor;

/// Of this thread: other processes do not count.
double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// Convolutions one after another: their plan takes long, and packs much.
std::string deep_model() {
  constexpr std::int64_t kChannels = 24;
  constexpr int kLayers = 1000;
  ModelBuilder model;
  model.input("x", {1, kChannels, 48, 48}).output("y");
  std::vector<float> weights(kChannels * kChannels * 9);
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string n = std::to_string(layer);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(layer)) % 23) * 0.003f - 0.03f;
    model.constant(raw_tensor("w" + n, onnx::TensorProto::FLOAT, {kChannels, kChannels, 3, 3}, weights));
    model.node("Conv", {layer == 0 ? "x" : "t" + std::to_string(layer - 1), "w" + n},
               {layer + 1 == kLayers ? "y" : "t" + n}, {attribute("pads", Ints{1, 1, 1, 1})});
  }
  return model.bytes();
}

/// Few products with large weights: next to nothing to plan, much to pack.
std::string wide_model() {
  constexpr std::int64_t kWide = 2048;
  ModelBuilder model;
  model.input("x", {1, kWide}).output("y");
  std::vector<float> weights(kWide * kWide);
  for (int layer = 0; layer < 8; ++layer) {
    const std::string n = std::to_string(layer);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>((i + static_cast<std::size_t>(layer)) % 13) * 0.001f;
    model.constant(raw_tensor("w" + n, onnx::TensorProto::FLOAT, {kWide, kWide}, weights));
    model.node("MatMul", {layer == 0 ? "x" : "t" + std::to_string(layer - 1), "w" + n}, {layer == 7 ? "y" : "t" + n});
  }
  return model.bytes();
}

struct Slow {
  Model model;
  Tensor input;
  Tensor expected;
  double first_run_ms = 0;  ///< of processor time, plan included
};

Slow slow_of(const std::string& bytes) {
  Slow made{Model::from_bytes(as_bytes(bytes), one_thread()), {}, {}};
  made.input = Tensor(DType::f32, made.model.inputs()[0].shape);
  float next = 0;
  for (float& x : made.input.values<float>()) x = static_cast<float>(static_cast<int>(next += 7) % 31) * 0.03f;
  Session session(made.model);
  const double begin = processor_ms();
  made.expected = std::move(session.run({TensorView(made.input)}).front());
  made.first_run_ms = processor_ms() - begin;
  return made;
}

/// What a run with these options throws, within this share of the time that a first run takes.
void expect_soon(const Slow& made, const RunOptions& options, ErrorCode code) {
  Session session(made.model);
  const double begin = processor_ms();
  try {
    session.run({TensorView(made.input)}, options);
    ADD_FAILURE() << "the run came to its end";
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
  }
  const double took = processor_ms() - begin;
  EXPECT_LT(took, std::max(60.0, made.first_run_ms / 8)) << "of " << made.first_run_ms << " ms";
  EXPECT_LT(took, made.first_run_ms / 2);
  EXPECT_EQ(session.memory_stats().plans, 0u) << "the plan that was broken off is kept";
  EXPECT_EQ(session.memory_stats().weights_bytes, 0u) << "weights of a plan that was broken off are kept";
  const Tensor answer = std::move(session.run({TensorView(made.input)}).front());
  EXPECT_EQ(std::memcmp(answer.data(), made.expected.data(), answer.byte_size()), 0);
}

RunOptions within(std::chrono::milliseconds time) {
  RunOptions options;
  options.deadline = std::chrono::steady_clock::now() + time;
  return options;
}

TEST(Interruption, DeadlinesReachIntoPlanning) {
  const Slow made = slow_of(deep_model());
  ASSERT_GT(made.first_run_ms, 120) << "this tests nothing: the plan is made too soon";
  expect_soon(made, within(5ms), ErrorCode::deadline);
  expect_soon(made, within(40ms), ErrorCode::deadline);
}

TEST(Interruption, DeadlinesReachIntoPacking) {
  const Slow made = slow_of(wide_model());
  ASSERT_GT(made.first_run_ms, 20);
  expect_soon(made, within(5ms), ErrorCode::deadline);
}

TEST(Interruption, StopTokensReachIntoPlanning) {
  const Slow made = slow_of(deep_model());
  std::stop_source source;
  RunOptions options;
  options.stop = source.get_token();
  int polls = 0;
  options.poll = [&] {
    if (++polls == 2) source.request_stop();
  };
  expect_soon(made, options, ErrorCode::cancelled);
}

TEST(Interruption, PrepareAndOutputShapesEndToo) {
  const Slow made = slow_of(deep_model());
  Session session(made.model);
  const double begin = processor_ms();
  EXPECT_THROW(session.prepare({}, within(5ms)), Error);
  EXPECT_THROW(session.output_shapes(std::vector<Shape>{made.input.shape()}, within(5ms)), Error);
  EXPECT_LT(processor_ms() - begin, std::max(120.0, made.first_run_ms / 4));
  EXPECT_NO_THROW(session.prepare());
}

struct Impatience : std::exception {};

TEST(Interruption, WhatPollThrowsEndsPlansAndRuns) {
  const Slow made = slow_of(deep_model());
  Session session(made.model);
  RunOptions options;
  options.poll = [] { throw Impatience(); };
  EXPECT_THROW(session.run({TensorView(made.input)}, options), Impatience);
  session.prepare();
  EXPECT_THROW(
      {
        for (int run = 0; run < 100; ++run) session.run({TensorView(made.input)}, options);
      },
      Impatience);
  EXPECT_EQ(session.run({TensorView(made.input)}).size(), 1u);
}

TEST(Interruption, DeadlinesHoldWhileAnotherSessionPlans) {
  const Slow made = slow_of(deep_model());
  std::atomic<bool> is_planning{false}, is_done{false};
  std::jthread other([&] {
    Session session(made.model);
    RunOptions options;
    options.poll = [&] { is_planning = true; };
    session.prepare({}, options);
    is_done = true;
  });
  while (!is_planning) std::this_thread::yield();
  Session session(made.model);
  try {
    session.run({TensorView(made.input)}, within(5ms));
    ADD_FAILURE() << "the run came to its end";
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(ErrorCode::deadline)) << error.what();
  }
  EXPECT_FALSE(is_done) << "it waited for the other one's plan";
  other.join();
  EXPECT_EQ(session.run({TensorView(made.input)}).size(), 1u);
}

TEST(Interruption, DeadlinesHoldWhileRunsThatWereStartedGoOn) {
  const Slow made = slow_of(deep_model());
  Session session(made.model);
  auto started = session.run_async({TensorView(made.input)});  // plans first
  EXPECT_THROW(session.run({TensorView(made.input)}, within(5ms)), Error);
  EXPECT_EQ(started.wait_for(0s), std::future_status::timeout);
  EXPECT_EQ(started.get().size(), 1u);
}

}  // namespace
}  // namespace colonnade::test
