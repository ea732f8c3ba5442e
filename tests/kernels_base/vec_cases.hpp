// SPDX-License-Identifier: Apache-2.0
// What every tier's Vec must do, lane by lane and bit for bit. Included once for each kind of vector that a test can be
// compiled for; VEC_SUITE names it.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/base/simd.hpp"
#include "kernels/move/transpose.hpp"

namespace colonnade::kernels {
namespace {

constexpr std::size_t kLanes = Vec::kLanes;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> lanes_of(Vec x) {
  std::vector<float> lanes(kLanes);
  store(lanes.data(), x);
  return lanes;
}

void expect_same(float got, float expected, const std::string& what) {
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(got)) << what << ": " << got;
  else
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(expected)) << what << ": " << got;
}

const std::vector<float> kValues = {
    0.0f,   -0.0f,  0.25f,       -0.25f,       0.5f,   -0.5f,   0.75f,      -0.75f,      1.0f, -1.0f, 1.5f,      -1.5f,
    2.5f,   -2.5f,  3.25f,       -3.25f,       1e6f,   -1e6f,   8388607.5f, -8388607.5f, 3e9f, -3e9f, 1e30f,     -1e30f,
    1e-40f, -1e-40, 2147483648., -2147483648., 1e-38f, 3.4e38f, kInf,       -kInf,       kNan, 7.0f,  -123.456f, 0.1f};

template <class Vector, class Scalar>
void expect_unary(const char* name, Vector vector, Scalar scalar) {
  for (std::size_t at = 0; at < kValues.size(); ++at) {
    std::vector<float> in(kLanes);
    for (std::size_t i = 0; i < kLanes; ++i) in[i] = kValues[(at + i) % kValues.size()];
    const std::vector<float> got = lanes_of(vector(load(in.data())));
    for (std::size_t i = 0; i < kLanes; ++i)
      expect_same(got[i], scalar(in[i]), std::string(name) + " of " + std::to_string(in[i]));
  }
}

template <class Vector, class Scalar>
void expect_binary(const char* name, Vector vector, Scalar scalar) {
  for (const float b : kValues)
    expect_unary(
        name, [&](Vec a) { return vector(a, broadcast(b)); }, [&](float a) { return scalar(a, b); });
}

TEST(VEC_SUITE, ComputesLaneByLane) {
  expect_binary(
      "a + b", [](Vec a, Vec b) { return a + b; }, [](float a, float b) { return a + b; });
  expect_binary(
      "a - b", [](Vec a, Vec b) { return a - b; }, [](float a, float b) { return a - b; });
  expect_binary(
      "a * b", [](Vec a, Vec b) { return a * b; }, [](float a, float b) { return a * b; });
  expect_binary(
      "a / b", [](Vec a, Vec b) { return a / b; }, [](float a, float b) { return a / b; });
  expect_unary(
      "sqrt", [](Vec a) { return sqrt(a); }, [](float a) { return std::sqrt(a); });
  expect_unary(
      "abs", [](Vec a) { return abs(a); }, [](float a) { return std::fabs(a); });
  expect_unary(
      "floor", [](Vec a) { return floor(a); }, [](float a) { return std::floor(a); });
  expect_unary(
      "ceil", [](Vec a) { return ceil(a); }, [](float a) { return std::ceil(a); });
  expect_unary(
      "round", [](Vec a) { return round(a); }, [](float a) { return std::nearbyint(a); });
  expect_unary(
      "-a", [](Vec a) { return -a; }, [](float a) { return -a; });
  expect_unary(
      "reciprocal", [](Vec a) { return reciprocal(abs(a)); }, [](float a) { return 1.0f / std::fabs(a); });
}

TEST(VEC_SUITE, MinimumAndMaximumGiveTheSecondOfNan) {
  expect_binary(
      "min", [](Vec a, Vec b) { return min(a, b); }, [](float a, float b) { return a < b ? a : b; });
  expect_binary(
      "max", [](Vec a, Vec b) { return max(a, b); }, [](float a, float b) { return a > b ? a : b; });
}

TEST(VEC_SUITE, SelectsByComparison) {
  const Vec one = broadcast(1.0f), two = broadcast(2.0f);
  expect_binary(
      "less", [&](Vec a, Vec b) { return select(less(a, b), one, two); },
      [](float a, float b) { return a < b ? 1.0f : 2.0f; });
  expect_unary(
      "is_nan", [&](Vec a) { return select(is_nan(a), one, two); },
      [](float a) { return std::isnan(a) ? 1.0f : 2.0f; });
  expect_binary(
      "copy_sign", [](Vec a, Vec b) { return copy_sign(a, b); }, [](float a, float b) { return std::copysign(a, b); });
}

TEST(VEC_SUITE, MultipliesAndAdds) {
  const Vec a = broadcast(3.0f), b = broadcast(5.0f), c = broadcast(100.0f);
  EXPECT_EQ(lanes_of(fma(a, b, c)), std::vector<float>(kLanes, 115.0f));
  EXPECT_EQ(lanes_of(fnma(a, b, c)), std::vector<float>(kLanes, 85.0f));
}

TEST(VEC_SUITE, TailsTouchNothingElse) {
  std::vector<float> from(kLanes), old(kLanes);
  for (std::size_t i = 0; i < kLanes; ++i) {
    from[i] = 1.0f + static_cast<float>(i);
    old[i] = -1.0f - static_cast<float>(i);
  }
  for (std::size_t begin = 0; begin <= kLanes; ++begin) {
    for (std::size_t end = begin; end <= kLanes; ++end) {
      const auto merged = lanes_of(merge_lanes(load(old.data()), from.data(), lanes_between(begin, end)));
      for (std::size_t i = 0; i < kLanes; ++i) EXPECT_EQ(merged[i], i >= begin && i < end ? from[i] : old[i]);
    }
    const std::size_t n = begin;
    const auto first = lanes_of(load_first(from.data(), n)),
               kept = lanes_of(keep_first(load(from.data()), n, load(old.data())));
    std::vector<float> stored = old;
    store_first(stored.data(), load(from.data()), n);
    for (std::size_t i = 0; i < kLanes; ++i) {
      EXPECT_EQ(first[i], i < n ? from[i] : 0.0f);
      EXPECT_EQ(kept[i], i < n ? from[i] : old[i]);
      EXPECT_EQ(stored[i], i < n ? from[i] : old[i]);
    }
  }
}

TEST(VEC_SUITE, TakesEverySecond) {
  std::vector<float> from(2 * kLanes);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  const auto even = lanes_of(load_even(from.data()));
  for (std::size_t i = 0; i < kLanes; ++i) EXPECT_EQ(even[i], static_cast<float>(2 * i));
}

/// Halves on each other down to four lanes, then i on i + 2: what the order of a norm's sums is made of.
TEST(VEC_SUITE, FoldsLanesInOrder) {
  const float four[] = {1e8f, 1.0f, -1e8f, 0.5f};  // another order loses the small ones
  std::vector<float> lanes(kLanes);
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = four[i % 4];
  std::vector<float> sums = lanes;
  for (std::size_t n = kLanes / 2; n > 0; n /= 2)
    for (std::size_t i = 0; i < n; ++i) sums[i] += sums[i + n];
  expect_same(sum_lanes(load(lanes.data())), sums[0], "sum");
  for (std::size_t top = 0; top < kLanes; ++top) {
    std::vector<float> values(kLanes, -3.0f);
    values[top] = -2.0f;
    EXPECT_EQ(max_lanes(load(values.data())), -2.0f);
  }
}

TEST(VEC_SUITE, ScalesAndSplitsByPowersOfTwo) {
  for (const int n : {-252, -149, -127, -126, -1, 0, 1, 127, 128, 254})
    expect_same(lanes_of(scale2(broadcast(1.5f), broadcast(static_cast<float>(n))))[0], std::ldexp(1.5f, n), "scale2");
  for (const float x : {1.0f, 1.75f, 3.5f, 1e-30f, 1e30f}) {
    int n = 0;
    const float half = std::frexp(x, &n);
    expect_same(lanes_of(mantissa(broadcast(x)))[0], 2.0f * half, "mantissa");
    expect_same(lanes_of(exponent(broadcast(x)))[0], static_cast<float>(n - 1), "exponent");
  }
  const float bits = std::bit_cast<float>(0x4b000000u + 127 + 3);
  EXPECT_EQ(lanes_of(low_bits_to_exponent(broadcast(bits)))[0], 8.0f);
}

TEST(VEC_SUITE, TransposesASquare) {
  Vec rows[kLanes];
  std::vector<float> row(kLanes);
  for (std::size_t i = 0; i < kLanes; ++i) {
    for (std::size_t j = 0; j < kLanes; ++j) row[j] = static_cast<float>(100 * i + j);
    rows[i] = load(row.data());
  }
  move::transpose(rows);
  for (std::size_t i = 0; i < kLanes; ++i)
    for (std::size_t j = 0; j < kLanes; ++j) EXPECT_EQ(lanes_of(rows[i])[j], static_cast<float>(100 * j + i));
}

TEST(VEC_SUITE, WeavesPlanesIntoPixelsAndBack) {
  Vec planes[3], pixels[3], back[3];
  std::vector<float> plane(kLanes);
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::size_t i = 0; i < kLanes; ++i) plane[i] = static_cast<float>(100 * p + i);
    planes[p] = load(plane.data());
  }
  move::weave<3, false>(planes, pixels);
  for (std::size_t at = 0; at < 3 * kLanes; ++at)
    EXPECT_EQ(lanes_of(pixels[at / kLanes])[at % kLanes], static_cast<float>(100 * (at % 3) + at / 3));
  move::weave<3, true>(pixels, back);
  for (std::size_t p = 0; p < 3; ++p) EXPECT_EQ(lanes_of(back[p]), lanes_of(planes[p]));
}

}  // namespace
}  // namespace colonnade::kernels
