// SPDX-License-Identifier: Apache-2.0
#include "base/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace colonnade {
namespace {

bool f16_is_nan(std::uint16_t half) { return (half & 0x7c00u) == 0x7c00u && (half & 0x3ffu) != 0; }

/// The value of a half by its definition.
double f16_value(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const double mantissa = half & 0x3ff;
  const double magnitude = exponent == 31  ? std::numeric_limits<double>::infinity()
                           : exponent == 0 ? std::ldexp(mantissa, -24)
                                           : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Half, EveryValueIsExact) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (f16_is_nan(half)) {
      ASSERT_TRUE(std::isnan(f16_to_float(half)));
    } else {
      ASSERT_EQ(static_cast<double>(f16_to_float(half)), f16_value(half)) << bits;
      ASSERT_EQ(std::signbit(f16_to_float(half)), (bits & 0x8000) != 0);
    }
  }
}

TEST(Half, EveryValueRoundTrips) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const std::uint16_t back = float_to_f16(f16_to_float(half));
    if (f16_is_nan(half)) {
      ASSERT_TRUE(f16_is_nan(back));
    } else {
      ASSERT_EQ(back, half);
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  // Between each two neighbours: just below the middle, the middle, just above it.
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint16_t>(bits + 1);
    const double above = bits == 0x7bff ? 65536.0 : f16_value(high);
    const auto middle = static_cast<float>((f16_value(low) + above) / 2);
    ASSERT_EQ(float_to_f16(std::nextafter(middle, 0.0f)), low) << bits;
    ASSERT_EQ(float_to_f16(middle), bits % 2 == 0 ? low : high) << bits;
    ASSERT_EQ(float_to_f16(std::nextafter(middle, 1e9f)), high) << bits;
    ASSERT_EQ(float_to_f16(-middle), 0x8000u | (bits % 2 == 0 ? low : high)) << bits;
  }
}

TEST(Half, Extremes) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(float_to_f16(infinity), 0x7c00);
  EXPECT_EQ(float_to_f16(-infinity), 0xfc00);
  EXPECT_EQ(float_to_f16(1e30f), 0x7c00);
  EXPECT_EQ(float_to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(float_to_f16(1e-30f), 0);
  EXPECT_EQ(float_to_f16(-0.0f), 0x8000);
  EXPECT_EQ(float_to_f16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_TRUE(f16_is_nan(float_to_f16(std::bit_cast<float>(0x7f800001u))));
}

TEST(BFloat16, EveryValueRoundTrips) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto value = static_cast<std::uint16_t>(bits);
    const float wide = bf16_to_float(value);
    if (std::isnan(wide)) {
      ASSERT_TRUE(std::isnan(bf16_to_float(float_to_bf16(wide))));
    } else {
      ASSERT_EQ(float_to_bf16(wide), value);
    }
  }
}

TEST(BFloat16, RoundsToNearestEven) {
  std::mt19937 random(7);
  for (int round = 0; round < 100000; ++round) {
    const std::uint32_t bits = static_cast<std::uint32_t>(random());
    const float value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    const std::uint16_t low = static_cast<std::uint16_t>(bits >> 16);
    const std::uint32_t tail = bits & 0xffffu;
    const bool up = tail > 0x8000u || (tail == 0x8000u && low % 2 == 1);
    ASSERT_EQ(float_to_bf16(value), static_cast<std::uint16_t>(low + (up ? 1 : 0))) << bits;
  }
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace colonnade
