// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "reference/support.hpp"

namespace colonnade::test {
namespace {

TEST(Gather, AxesNegativesAndStrings) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_near(run(Gather{1}, x, i64({2, 1}, {-1, 0})), {2, 2, 1}, {3, 1, 6, 4});
  expect_near(run(Gather{0}, x, i64({}, {1})), {3}, {4, 5, 6});
  EXPECT_EQ(run(Gather{0}, strings({2}, {"a", "b"}), ints({1, 1})).strings(), (std::vector<std::string>{"b", "b"}));
  for (const std::int64_t index : {3, -4}) {
    const Tensor wrong = ints({index});
    expect_error(ErrorCode::invalid_input, Gather{1}, {&x, &wrong});
  }
}

TEST(GatherElements, PicksPerElement) {
  const Tensor x = f32({2, 2}, {1, 2, 3, 4}), wrong = i64({1, 1}, {2});
  expect_near(run(GatherElements{1}, x, i64({2, 2}, {0, 0, 1, -2})), {2, 2}, {1, 1, 4, 3});
  expect_error(ErrorCode::invalid_input, GatherElements{0}, {&x, &wrong});
}

TEST(GatherNd, TuplesAndBatches) {
  const Tensor x = f32({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}), wrong = i64({1, 1}, {2});
  expect_near(run(GatherNd{0}, x, i64({2, 2}, {0, 1, 1, 0})), {2, 2}, {2, 3, 4, 5});
  expect_near(run(GatherNd{0}, x, i64({1, 3}, {-1, -1, -1})), {1}, {7});
  expect_near(run(GatherNd{1}, x, i64({2, 1}, {1, 0})), {2, 2}, {2, 3, 4, 5});
  expect_error(ErrorCode::invalid_input, GatherNd{0}, {&x, &wrong});
}

TEST(ScatterNd, ModesAndBounds) {
  const Tensor x = f32({4}, {1, 2, 3, 4}), indices = i64({3, 1}, {1, 3, 1}), updates = f32({3}, {10, 20, 5});
  expect_near(run(ScatterNd{}, x, indices, updates), {4}, {1, 5, 3, 20});
  expect_near(run(ScatterNd{ScatterMode::add}, x, indices, updates), {4}, {1, 17, 3, 24});
  expect_near(run(ScatterNd{ScatterMode::mul}, x, indices, updates), {4}, {1, 100, 3, 80});
  expect_near(run(ScatterNd{ScatterMode::max}, x, indices, updates), {4}, {1, 10, 3, 20});
  expect_near(run(ScatterNd{ScatterMode::min}, x, indices, updates), {4}, {1, 2, 3, 4});
  expect_near(run(ScatterNd{}, f32({2, 2}, {1, 2, 3, 4}), i64({1, 1}, {-1}), f32({1, 2}, {7, 8})), {2, 2},
              {1, 2, 7, 8});
  const Tensor wrong = i64({3, 1}, {0, 4, 0});
  expect_error(ErrorCode::invalid_input, ScatterNd{}, {&x, &wrong, &updates});
}

TEST(ScatterElements, AlongAnAxis) {
  const Tensor x = f32({2, 3}, Numbers(6, 0)), indices = i64({2, 2}, {0, -1, 1, 1}),
               updates = f32({2, 2}, {1, 2, 3, 4});
  expect_near(run(ScatterElements{1}, x, indices, updates), {2, 3}, {1, 0, 2, 0, 4, 0});
  expect_near(run(ScatterElements{1, ScatterMode::add}, x, indices, updates), {2, 3}, {1, 0, 2, 0, 7, 0});
  const Tensor wrong = i64({2, 2}, {0, 3, 0, 0});
  expect_error(ErrorCode::invalid_input, ScatterElements{1}, {&x, &wrong, &updates});
}

TEST(OneHot, AxisAndOutOfRange) {
  const Tensor values = f32({2}, {-1, 5});
  expect_near(run(OneHot{}, ints({0, -1, 7}), i64({}, {3}), values), {3, 3}, {5, -1, -1, -1, -1, 5, -1, -1, -1});
  expect_near(run(OneHot{0}, ints({1, 0}), i64({}, {2}), values), {2, 2}, {-1, 5, 5, -1});
}

TEST(TopK, LargestSmallestStable) {
  const Tensor x = f32({1, 5}, {3, 1, 4, 4, NAN}), three = ints({3}), six = ints({6});
  const std::vector<Tensor> largest = outputs_of(TopK{}, {&x, &three}, 2);
  expect_near(largest[1], {1, 3}, {4, 2, 3});
  const std::vector<Tensor> smallest = outputs_of(TopK{-1, false, true}, {&x, &three}, 2);
  expect_near(smallest[0], {1, 3}, {1, 3, 4});
  expect_near(smallest[1], {1, 3}, {1, 0, 2});
  try {
    outputs_of(TopK{}, {&x, &six}, 2);
    ADD_FAILURE() << "k exceeds the axis";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("subject"), std::string::npos);
  }
}

TEST(NonZero, RowMajorPositions) {
  expect_near(run(NonZero{}, f32({2, 2}, {1, 0, 0, 3})), {2, 2}, {0, 1, 0, 1});
  EXPECT_EQ(run(NonZero{}, booleans({3}, {0, 0, 0})).shape(), (Shape{1, 0}));
}

}  // namespace
}  // namespace colonnade::test
