// SPDX-License-Identifier: Apache-2.0
// One session, many lengths: what plans share, and what a plan of its own gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "colonnade/colonnade.hpp"
#include "onnx/builder.hpp"

namespace colonnade::test {
namespace {

using onnx_import::testing::attribute;
using onnx_import::testing::float_tensor;
using onnx_import::testing::int_tensor;
using onnx_import::testing::ModelBuilder;

constexpr std::int64_t kRowWidth = 64, kLongestRow = 300;

std::vector<float> waves(std::int64_t count, float step) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.2f * std::sin(step * static_cast<float>(i));
  return values;
}

/// One head of attention over words and their positions, as exports write it: any number of words.
std::string encoder() {
  ModelBuilder model;
  model.input("ids", {1, -1}, onnx::TensorProto::INT64);
  for (const auto& [name, rows, step] : {std::tuple("words", std::int64_t{50}, 0.7f),
                                         {"positions", kLongestRow, 0.3f},
                                         {"q", kRowWidth, 0.11f},
                                         {"k", kRowWidth, 0.13f},
                                         {"v", kRowWidth, 0.17f}})
    model.constant(float_tensor(name, {rows, kRowWidth}, waves(rows * kRowWidth, step)));
  model.constant(float_tensor("scale", {}, {0.125f}));
  model.constant(int_tensor("zero", {1}, {0})).constant(int_tensor("one", {1}, {1}));
  model.node("Gather", {"words", "ids"}, {"word"});
  model.node("Shape", {"ids"}, {"shape"}).node("Gather", {"shape", "one"}, {"count"});
  model.node("Slice", {"positions", "zero", "count"}, {"position"});
  model.node("Add", {"word", "position"}, {"x"});
  model.node("MatMul", {"x", "q"}, {"query"}).node("MatMul", {"x", "k"}, {"key"}).node("MatMul", {"x", "v"}, {"value"});
  model.node("Transpose", {"key"}, {"turned"}, {attribute("perm", Ints{0, 2, 1})});
  model.node("MatMul", {"query", "turned"}, {"products"}).node("Mul", {"products", "scale"}, {"scores"});
  model.node("Softmax", {"scores"}, {"weights"}, {attribute("axis", -1)});
  model.node("MatMul", {"weights", "value"}, {"y"});
  return model.output("y").bytes();
}

Tensor words(std::int64_t count) {
  Tensor ids(DType::i64, {1, count});
  for (std::int64_t i = 0; i < count; ++i) ids.values<std::int64_t>()[static_cast<std::size_t>(i)] = (i * 7) % 50;
  return ids;
}

Tensor run(Session& session, std::int64_t count) {
  const Tensor ids = words(count);
  return std::move(session.run(std::vector<TensorView>{ids})[0]);
}

TEST(Lengths, PlansShareWeightsAndOneArenaAndGiveTheBitsOfTheirOwn) {
  const std::string bytes = encoder();
  const Model model = Model::from_bytes(onnx_import::testing::as_bytes(bytes));
  Session session(model);
  run(session, 1);
  const std::size_t weights = session.memory_stats().weights_bytes;
  EXPECT_GE(weights, std::size_t{3} * kRowWidth * kRowWidth * sizeof(float));
  std::size_t arena = session.memory_stats().arena_bytes;
  for (const std::int64_t count : {40, 299, 7, 300, 41, 40, 1, 299, 128}) {
    const Tensor found = run(session, count);
    Session fresh(model);
    const Tensor expected = run(fresh, count);
    ASSERT_EQ(found.shape(), (Shape{1, count, kRowWidth}));
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.byte_size()), 0) << count;
    arena = std::max(arena, fresh.memory_stats().arena_bytes);
    EXPECT_EQ(session.memory_stats().arena_bytes, arena) << count << ": as much as the longest took";
    EXPECT_EQ(session.memory_stats().weights_bytes, weights) << count << ": packed once for all lengths";
  }
  EXPECT_EQ(session.memory_stats().plans, 7u);
}

/// Weights that are known once the batch is: repeated for each of its one text, their signs changed, halved.
std::string with_late_weights() {
  constexpr std::int64_t kWide = 96;
  ModelBuilder model;
  model.input("x", {-1, -1, kWide});
  model.constant(float_tensor("w", {kWide, kWide}, waves(kWide * kWide, 0.11f)))
      .constant(float_tensor("half", {}, {0.5f}));
  model.constant(int_tensor("first", {1}, {0})).constant(int_tensor("matrix", {2}, {kWide, kWide}));
  model.constant(int_tensor("rows", {2}, {-1, kWide}));
  model.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "first"}, {"batch"});
  model.node("Concat", {"batch", "matrix"}, {"all"}, {attribute("axis", 0)}).node("Expand", {"w", "all"}, {"repeated"});
  model.node("Neg", {"repeated"}, {"negated"}).node("Mul", {"negated", "half"}, {"halved"});
  model.node("Reshape", {"halved", "rows"}, {"weights"}).node("MatMul", {"x", "weights"}, {"y"});
  return model.output("y").bytes();
}

TEST(Lengths, WeightsThatShapesMakeKnownArePackedOnce) {
  const std::string bytes = with_late_weights();
  Session session(Model::from_bytes(onnx_import::testing::as_bytes(bytes)));
  std::size_t weights = 0;
  for (const std::int64_t count : {30, 7, 12, 100, 31}) {
    Tensor x(DType::f32, {1, count, 96});
    const std::vector<float> values = waves(count * 96, 0.07f);
    std::copy(values.begin(), values.end(), x.values<float>().begin());
    const Tensor y = std::move(session.run(std::vector<TensorView>{x})[0]);
    const Tensor alone =
        std::move(Session(Model::from_bytes(onnx_import::testing::as_bytes(bytes))).run(std::vector<TensorView>{x})[0]);
    EXPECT_EQ(std::memcmp(y.data(), alone.data(), y.byte_size()), 0) << count;
    if (weights == 0) weights = session.memory_stats().weights_bytes;
    EXPECT_EQ(session.memory_stats().weights_bytes, weights) << count;
  }
  EXPECT_GE(weights, std::size_t{96 * 96 * 4});
}

TEST(Lengths, TheArenaShrinksWithThePlansThatNeedIt) {
  Options options;
  options.plan_cache_bytes = 1;
  const std::string bytes = encoder();
  const Model model = Model::from_bytes(onnx_import::testing::as_bytes(bytes), options);
  Session session(model);
  run(session, kLongestRow);
  const std::size_t longest = session.memory_stats().arena_bytes;
  run(session, 5);
  EXPECT_LT(session.memory_stats().arena_bytes, longest / 10);
  run(session, kLongestRow);
  EXPECT_EQ(session.memory_stats().arena_bytes, longest);
}

}  // namespace
}  // namespace colonnade::test
