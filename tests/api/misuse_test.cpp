// SPDX-License-Identifier: Apache-2.0
// What callers get wrong, and how they are told: sessions that threads share, handles that hold nothing, inputs that
// disagree.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "api/runs.hpp"
#include "colonnade/colonnade.h"
#include "colonnade/colonnade.hpp"
#include "onnx/builder.hpp"

namespace colonnade::test {
namespace {

using onnx_import::testing::as_bytes;
using onnx_import::testing::ModelBuilder;

Tensor picture() {
  Tensor tensor(DType::f32, {1, 1, 28, 28});
  float next = 0;
  for (float& x : tensor.values<float>()) x = static_cast<float>(static_cast<int>(next += 7) % 17) / 17;
  return tensor;
}

TEST(Misuse, ASessionThatThreadsShareSaysSo) {
  Session session(Model::embedded("digits", one_thread()));
  const Tensor input = picture();
  const Tensor expected = std::move(session.run({TensorView(input)}).front());
  std::atomic<int> good{0}, refused{0}, other{0}, ready{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&] {
        for (++ready; ready < 4;) std::this_thread::yield();
        for (int run = 0; run < 500; ++run) {
          try {
            ++(same_bits(session.run({TensorView(input)}).front(), expected) ? good : other);
            session.stats();
          } catch (const Error& error) {
            const bool is_told = error.code() == ErrorCode::invalid_argument &&
                                 std::string(error.what()).find("in use by another call") != std::string::npos;
            ++(is_told ? refused : other);
          }
        }
      });
  }
  EXPECT_EQ(other, 0);
  EXPECT_GT(good, 0);
  EXPECT_TRUE(same_bits(session.run({TensorView(input)}).front(), expected)) << "the session is as good as before";
}

/// The run that is under way asks, which takes a run of many milliseconds, and another thread tries: no chance needed.
TEST(Misuse, EveryCallBesideARunIsRefused) {
  ModelBuilder model;
  model.input("x", {1, 8, 512, 512}).output("y");
  for (int i = 0; i < 40; ++i)
    model.node(i % 2 == 0 ? "Relu" : "Softplus", {i == 0 ? "x" : "t" + std::to_string(i - 1)},
               {i == 39 ? "y" : "t" + std::to_string(i)});
  const std::string bytes = model.bytes();
  Session session(Model::from_bytes(as_bytes(bytes), one_thread()));
  const Tensor input(DType::f32, {1, 8, 512, 512});
  std::atomic<int> asked{0};
  RunOptions options;
  options.poll = [&] {
    if (asked.fetch_add(1) > 0) return;
    std::jthread([&] {
      const auto refused = [](auto&& call) {
        expect_error(ErrorCode::invalid_argument, "in use by another call", call);
      };
      refused([&] { session.run({TensorView(input)}); });
      refused([&] { session.prepare(); });
      refused([&] { session.output_shapes(std::vector<Shape>{{1, 8, 512, 512}}); });
      refused([&] { session.run_data(std::vector<Datum>{Datum(input)}); });
      refused([&] { session.shrink(); });
      refused([&] { session.stats(); });
      refused([&] { session.memory_stats(); });
      refused([&] { session.set_profiling(true); });
      refused([&] { session.profile(); });
      refused([&] { session.trace(); });
    });
  };
  for (int run = 0; run < 1000 && asked == 0; ++run) session.run({TensorView(input)}, options);
  EXPECT_GT(asked, 0);
  EXPECT_EQ(session.run({TensorView(input)}).size(), 1u);
}

TEST(Misuse, TheCInterfaceSaysItToo) {
  colonnade_model* model = nullptr;
  colonnade_session* session = nullptr;
  colonnade_tensor* input = nullptr;
  const std::int64_t shape[] = {1, 1, 28, 28};
  ASSERT_EQ(colonnade_model_embedded("digits", nullptr, &model), nullptr);
  ASSERT_EQ(colonnade_session_create(model, &session), nullptr);
  ASSERT_EQ(colonnade_tensor_create(COLONNADE_FLOAT32, shape, 4, &input), nullptr);
  std::atomic<int> other{0}, ready{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&] {
        for (++ready; ready < 4;) std::this_thread::yield();
        for (int run = 0; run < 300; ++run) {
          colonnade_tensor* output = nullptr;
          colonnade_status* status = colonnade_session_run(session, &input, 1, &output, 1, nullptr);
          const bool is_told =
              status == nullptr ||
              std::string(colonnade_status_message(status)).find("in use by another call") != std::string::npos;
          if (!is_told) ++other;
          colonnade_status_free(status);
          colonnade_tensor_free(output);
        }
      });
  }
  EXPECT_EQ(other, 0);
  colonnade_tensor_free(input);
  colonnade_session_free(session);
  colonnade_model_free(model);
}

TEST(Misuse, HandlesThatHoldNothingSaySo) {
  Model model = Model::embedded("digits", one_thread());
  Session session(model);
  const Tensor input = picture();
  Session taken = std::move(session);
  EXPECT_EQ(taken.run({TensorView(input)}).size(), 1u);
  const Model other = std::move(model);
  EXPECT_EQ(other.inputs().size(), 1u);
  const Model none;
  for (const Model* empty : {&none, &static_cast<const Model&>(model)}) {  // NOLINT(bugprone-use-after-move)
    const auto refused = [](auto&& call) { expect_error(ErrorCode::invalid_argument, "the model is empty", call); };
    refused([&] { empty->inputs(); });
    refused([&] { empty->outputs(); });
    refused([&] { empty->options(); });
    refused([&] { empty->name(); });
    refused([&] { empty->metadata(); });
    refused([&] { empty->resolve_shapes(); });
    refused([&] { empty->print(Stage::graph); });
    refused([&] { empty->describe(); });
    refused([&] { empty->evaluate_reference(std::vector<TensorView>{input}); });
    refused([&] { Session made(*empty); });
  }
  Session nothing;
  for (Session* empty : {&nothing, &session}) {  // NOLINT(bugprone-use-after-move)
    const auto refused = [](auto&& call) { expect_error(ErrorCode::invalid_argument, "the session is empty", call); };
    refused([&] { empty->run({TensorView(input)}); });
    refused([&] { empty->run_named({{"image", TensorView(input)}}); });
    refused([&] { empty->run_data(std::vector<Datum>{}); });
    refused([&] { empty->run_async({TensorView(input)}); });
    refused([&] { empty->prepare(); });
    refused([&] { empty->output_shapes(std::vector<Shape>{}); });
    refused([&] { empty->shrink(); });
    refused([&] { empty->stats(); });
    refused([&] { empty->memory_stats(); });
    refused([&] { empty->set_profiling(true); });
    refused([&] { empty->profile(); });
    refused([&] { empty->trace(); });
  }
  nothing = std::move(taken);
  EXPECT_EQ(nothing.run({TensorView(input)}).size(), 1u);
}

TEST(Misuse, InputsThatDisagreeAreInvalidInput) {
  ModelBuilder builder;
  builder.input("a", {-1, 4}).input("b", {-1, 4}).node("Add", {"a", "b"}, {"y"}).output("y");
  for (auto& input : *builder.proto.mutable_graph()->mutable_input())
    input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("batch");
  const std::string bytes = builder.bytes();
  const Model model = Model::from_bytes(as_bytes(bytes));
  Session session(model);
  const Tensor two(DType::f32, {2, 4}), three(DType::f32, {3, 4});
  const std::string told = "input 'b': dimension 'batch' is 3 at axis 0, another input has 2";
  expect_error(ErrorCode::invalid_input, told, [&] { session.run({TensorView(two), TensorView(three)}); });
  expect_error(ErrorCode::invalid_input, told, [&] {
    model.evaluate_reference(std::vector<TensorView>{TensorView(two), TensorView(three)});
  });
  expect_error(ErrorCode::invalid_argument, told, [&] { session.prepare({{"a", {2, 4}}, {"b", {3, 4}}}); });
  EXPECT_EQ(session.run({TensorView(two), TensorView(two)}).size(), 1u);
}

TEST(Misuse, TooManyThreadsAreRefused) {
  Options options;
  options.threads = 5000;
  expect_error(ErrorCode::invalid_argument, "threads must be 0 to 4096, found 5000",
               [&] { Model::embedded("digits", options); });
}

}  // namespace
}  // namespace colonnade::test
