// SPDX-License-Identifier: Apache-2.0
// Outputs that the caller wants where inputs lie: the same numbers as apart from them.
#include <gtest/gtest.h>

#include <numeric>

#include "api/texts.hpp"

namespace colonnade::test {
namespace {

constexpr std::int64_t kRows = 64, kColumns = 50;

/// y = the rows of x backwards, plus x; z = x transposed.
std::string model_bytes() {
  ModelBuilder model;
  model.input("x", {kRows, kColumns});
  std::vector<std::int64_t> order(kRows);
  std::iota(order.rbegin(), order.rend(), 0);
  model.constant(int_tensor("order", {kRows}, order));
  model.node("Gather", {"x", "order"}, {"turned"}).node("Add", {"turned", "x"}, {"y"});
  model.node("Transpose", {"x"}, {"z"}, {attribute("perm", Ints{1, 0})});
  return model.output("y").output("z").bytes();
}

TEST(Apart, OutputsMayLieWhereInputsDo) {
  const std::string bytes = model_bytes();
  const Tensor x = random_tensor({kRows, kColumns}, 1);
  for (const int threads : {1, 2}) {
    Session session(model_of(bytes, threads));
    const std::vector<Tensor> expected = session.run({x});
    const auto count = static_cast<std::size_t>(kRows * kColumns);
    for (const std::ptrdiff_t y_at : {0, 17, 1600, 3200})
      for (const bool over_z : {false, true}) {
        std::vector<float> memory(3 * count, 0.5f);
        float* const place = memory.data() + count;
        std::copy_n(x.values<float>().data(), count, place);
        std::vector<float> other(count);
        float* const y = over_z ? other.data() : place + y_at - 1600;
        float* const z = over_z ? place + y_at - 1600 : other.data();
        session.run(
            {TensorView(DType::f32, {kRows, kColumns}, place)},
            {MutableTensorView(DType::f32, {kRows, kColumns}, y), MutableTensorView(DType::f32, {kColumns, kRows}, z)});
        EXPECT_TRUE(std::equal(y, y + count, expected[0].values<float>().data())) << y_at;
        EXPECT_TRUE(std::equal(z, z + count, expected[1].values<float>().data())) << y_at;
      }
  }
}

/// As opset 24 has caches: rows are written into a buffer, where it lies if that is asked for.
TEST(Apart, ScattersIntoTheInput) {
  constexpr std::int64_t kRoom = 700, kWidth = 64;
  ModelBuilder model(24);
  model.input("cache", {2, 3, kRoom, kWidth}).input("rows", {2, 3, 2, kWidth});
  model.input("at", {2}, onnx::TensorProto::INT64);
  model.node("TensorScatter", {"cache", "rows", "at"}, {"y"}, {attribute("axis", 2)});
  const std::string bytes = model.output("y").bytes();
  Tensor cache = random_tensor({2, 3, kRoom, kWidth}, 1);
  const Tensor rows = random_tensor({2, 3, 2, kWidth}, 2);
  Tensor at(DType::i64, {2});
  at.values<std::int64_t>()[0] = 5, at.values<std::int64_t>()[1] = 698;
  for (const int threads : {1, 2}) {
    Session session(model_of(bytes, threads));
    const Tensor expected = std::move(session.run({cache, rows, at})[0]);
    Tensor buffer = cache;
    session.run({buffer, rows, at}, {buffer});
    EXPECT_TRUE(same_bits(buffer, expected));
    EXPECT_FALSE(same_bits(buffer, cache));
  }
}

TEST(Apart, WithStrides) {
  const std::string bytes = model_bytes();
  Session session(model_of(bytes));
  const Tensor x = random_tensor({kRows, kColumns}, 2);
  const std::vector<Tensor> expected = session.run({x});
  std::vector<float> memory(static_cast<std::size_t>(kRows * kColumns));
  for (std::int64_t row = 0; row < kRows; ++row)  // columns one after another
    for (std::int64_t column = 0; column < kColumns; ++column)
      memory[static_cast<std::size_t>(column * kRows + row)] =
          x.values<float>()[static_cast<std::size_t>(row * kColumns + column)];
  Tensor y(DType::f32, {kRows, kColumns});
  session.run({TensorView(DType::f32, {kRows, kColumns}, memory.data(), {1, kRows})},
              {y, MutableTensorView(DType::f32, {kColumns, kRows}, memory.data())});
  EXPECT_TRUE(same_bits(y, expected[0]));
  EXPECT_TRUE(std::ranges::equal(memory, expected[1].values<float>()));
}

}  // namespace
}  // namespace colonnade::test
