// SPDX-License-Identifier: Apache-2.0
#include "base/strides.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace colonnade {
namespace {

/// Where element `index` (counted row by row) of a tensor with strides lies.
std::int64_t place_of(std::int64_t index, const Shape& shape, const Strides& strides) {
  std::int64_t place = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    place += index % shape[axis] * strides[axis];
    index /= shape[axis];
  }
  return place;
}

TEST(Strides, EveryPermutationOfADenseArrayIsSeen) {
  const Shape sizes = {5, 3, 4, 2};
  for (std::size_t rank = 2; rank <= 4; ++rank) {
    Strides order(rank);
    std::iota(order.begin(), order.end(), 0);
    do {
      const Shape shape(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(rank));
      const Strides in_memory = dense_strides(in_order(shape, order));
      Strides strides(rank);
      for (std::size_t i = 0; i < rank; ++i) strides[static_cast<std::size_t>(order[i])] = in_memory[i];
      const Strides found = memory_order(shape, strides);
      EXPECT_EQ(found, std::is_sorted(order.begin(), order.end()) ? Strides{} : order);
      EXPECT_TRUE(is_dense(shape, strides, found));
      EXPECT_FALSE(may_overlap(shape, strides));
      EXPECT_EQ(reach_of(shape, strides), element_count(shape));
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(Strides, AxesOfSizeOneStayWhereTheyAre) {
  EXPECT_EQ(memory_order(Shape{1, 3, 8, 9}, Strides{7, 1, 27, 3}), (Strides{0, 2, 3, 1}));
  EXPECT_EQ(memory_order(Shape{1, 1, 8, 9}, Strides{0, 100, 9, 1}), Strides{});
  EXPECT_TRUE(is_dense(Shape{1, 1, 8, 9}, Strides{0, 100, 9, 1}, {}));
}

TEST(Strides, GapsRepeatsAndBackwardsAreNotDense) {
  EXPECT_FALSE(is_dense(Shape{4, 5}, Strides{6, 1}, {}));
  EXPECT_FALSE(is_dense(Shape{4, 5}, Strides{0, 1}, {}));
  EXPECT_FALSE(is_dense(Shape{4, 5}, Strides{-5, 1}, {}));
  EXPECT_FALSE(is_dense(Shape{4, 5}, Strides{10, 2}, {}));
  EXPECT_TRUE(is_dense(Shape{4, 0}, Strides{3, 17}, {}));
  EXPECT_TRUE(is_dense(Shape{}, Strides{}, {}));
}

TEST(Strides, OverlapIsFound) {
  EXPECT_TRUE(may_overlap(Shape{4, 5}, Strides{0, 1}));
  EXPECT_TRUE(may_overlap(Shape{4, 5}, Strides{1, 1}));
  EXPECT_TRUE(may_overlap(Shape{4, 5}, Strides{4, 1}));
  EXPECT_FALSE(may_overlap(Shape{4, 5}, Strides{5, 1}));
  EXPECT_FALSE(may_overlap(Shape{4, 5}, Strides{-5, 1}));
  EXPECT_FALSE(may_overlap(Shape{4, 5}, Strides{1, 4}));
  EXPECT_FALSE(may_overlap(Shape{4, 5, 1}, Strides{1, 4, 0}));
}

TEST(Strides, ReachCountsForwardsOnly) {
  EXPECT_EQ(reach_of(Shape{3, 4}, Strides{10, 2}), 27);
  EXPECT_EQ(reach_of(Shape{3, 4}, Strides{-10, 2}), 7);
  EXPECT_EQ(reach_of(Shape{3, 0}, Strides{-10, 2}), 0);
  EXPECT_EQ(reach_of(Shape{3, 4}, Strides{}), 12);
}

TEST(Strides, WhatCannotLieInMemoryIsRefused) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_THROW(check_strides(Shape{2, 3}, Strides{1}), Error);
  for (const std::int64_t stride : {kMost, kLeast, kMost / 2, std::int64_t{1} << 51}) {
    EXPECT_THROW(check_strides(Shape{2, 3}, Strides{stride, 1}), Error) << stride;
    EXPECT_NO_THROW(check_strides(Shape{1, 3}, Strides{stride, 1})) << stride;
    EXPECT_NO_THROW(check_strides(Shape{2, 0}, Strides{stride, 1})) << stride;
  }
  EXPECT_NO_THROW(check_strides(Shape{2, 3}, Strides{}));
}

/// Copies between strides on both sides and compares every element with where it should have come from.
template <class T>
void expect_copied(DType dtype, const Shape& shape, const Strides& from, const Strides& to) {
  constexpr std::size_t kRoom = 4096, kMiddle = kRoom / 2;
  std::vector<T> source(kRoom), target(kRoom);
  for (std::size_t i = 0; i < kRoom; ++i) {
    source[i] = T{static_cast<std::uint8_t>(i * 31 + i / 256)};
    target[i] = T{static_cast<std::uint8_t>(255)};
  }
  copy_elements(dtype, shape, source.data() + kMiddle, from, target.data() + kMiddle, to);
  std::vector<T> expected(kRoom, T{static_cast<std::uint8_t>(255)});
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    expected[kMiddle + static_cast<std::size_t>(place_of(i, shape, to))] =
        source[kMiddle + static_cast<std::size_t>(place_of(i, shape, from))];
  EXPECT_EQ(target, expected);
}

template <class T>
void expect_all_copied(DType dtype) {
  const Shape shape = {3, 4, 5};
  const Strides dense = dense_strides(shape);
  for (const Strides& strides :
       {dense, Strides{1, 3, 12}, Strides{20, 1, 4}, Strides{70, 9, 1}, Strides{-20, -5, -1}, Strides{140, 30, 2}}) {
    expect_copied<T>(dtype, shape, strides, dense);
    expect_copied<T>(dtype, shape, dense, strides);
    expect_copied<T>(dtype, shape, strides, Strides{1, 3, 12});
  }
  expect_copied<T>(dtype, shape, Strides{0, 0, 1}, dense);
  expect_copied<T>(dtype, shape, Strides{5, 1, 0}, dense);
  expect_copied<T>(dtype, {}, {}, {});
  expect_copied<T>(dtype, {3, 0}, {7, 1}, {0, 1});
}

TEST(Strides, ElementsOfAllSizesAreCopied) {
  expect_all_copied<std::uint8_t>(DType::u8);
  expect_all_copied<std::uint16_t>(DType::f16);
  expect_all_copied<std::uint32_t>(DType::f32);
  expect_all_copied<std::uint64_t>(DType::i64);
  expect_all_copied<std::array<std::uint64_t, 2>>(DType::c128);
}

TEST(Strides, StringsAreCopied) {
  const std::vector<std::string> from = {"a long string that owns memory", "b", "c", "d", "e", "f"};
  std::vector<std::string> to(6);
  copy_elements(DType::string, Shape{3, 2}, from.data(), Strides{1, 3}, to.data(), dense_strides(Shape{3, 2}));
  EXPECT_EQ(to, (std::vector<std::string>{from[0], "d", "b", "e", "c", "f"}));
}

}  // namespace
}  // namespace colonnade
