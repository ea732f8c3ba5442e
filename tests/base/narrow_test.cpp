// SPDX-License-Identifier: Apache-2.0
#include "base/narrow.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace colonnade {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A format as its standard describes it.
struct Format {
  DType dtype;
  int exponent_bits, mantissa_bits, bias;
  double largest;
  bool infinity, nan, signed_zero;
};
constexpr Format kFormats[] = {
    {DType::f8e4m3fn, 4, 3, 7, 448, false, true, true}, {DType::f8e4m3fnuz, 4, 3, 8, 240, false, true, false},
    {DType::f8e5m2, 5, 2, 15, 57344, true, true, true}, {DType::f8e5m2fnuz, 5, 2, 16, 57344, false, true, false},
    {DType::f6e2m3, 2, 3, 1, 7.5, false, false, true},  {DType::f6e3m2, 3, 2, 3, 28, false, false, true},
    {DType::f4e2m1, 2, 1, 1, 6, false, false, true}};

int codes(const Format& f) { return 1 << (f.exponent_bits + f.mantissa_bits + 1); }

/// The value of a code that is a number, by its fields.
double value_of(const Format& f, int code) {
  const int mantissa = code & ((1 << f.mantissa_bits) - 1);
  const int exponent = (code >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
  const double fraction = mantissa / std::ldexp(1, f.mantissa_bits);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - f.bias) : std::ldexp(1 + fraction, exponent - f.bias);
  return code >= codes(f) / 2 ? -magnitude : magnitude;
}

/// Finite non-negative values in order: code i has value [i].
std::vector<double> magnitudes(const Format& f) {
  std::vector<double> values;
  for (int code = 0; code < codes(f) / 2 && value_of(f, code) <= f.largest; ++code) values.push_back(value_of(f, code));
  return values;
}

std::uint8_t encoded(const Format& f, double value, bool saturate = true) {
  return minifloat_of(f.dtype, value, saturate);
}

TEST(Minifloat, EveryCodeHasTheValueOfItsFields) {
  for (const Format& f : kFormats) {
    for (int code = 0; code < codes(f); ++code) {
      const double found = minifloat_value(f.dtype, static_cast<std::uint8_t>(code));
      const bool is_nan_zero = !f.signed_zero && code == codes(f) / 2;
      if (is_nan_zero) {
        EXPECT_TRUE(std::isnan(found)) << name_of(f.dtype) << ' ' << code;
      } else if (std::abs(value_of(f, code)) <= f.largest) {
        EXPECT_EQ(found, value_of(f, code)) << name_of(f.dtype) << ' ' << code;
        EXPECT_EQ(std::signbit(found), code >= codes(f) / 2);
      } else {
        const bool is_infinity = f.infinity && (code & 3) == 0;
        EXPECT_EQ(std::isinf(found), is_infinity) << name_of(f.dtype) << ' ' << code;
        EXPECT_EQ(std::isnan(found), !is_infinity) << name_of(f.dtype) << ' ' << code;
      }
    }
  }
}

TEST(Minifloat, EveryNumberRoundTrips) {
  for (const Format& f : kFormats) {
    for (int code = 0; code < codes(f); ++code) {
      const auto bits = static_cast<std::uint8_t>(code);
      const double value = minifloat_value(f.dtype, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(minifloat_value(f.dtype, encoded(f, value, false))));
      } else {
        EXPECT_EQ(encoded(f, value, false), bits) << name_of(f.dtype) << ' ' << code;
      }
    }
  }
}

TEST(Minifloat, BetweenNumbersTheNearerOneWinsAndTiesGoToEven) {
  for (const Format& f : kFormats) {
    const std::vector<double> values = magnitudes(f);
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const double middle = (values[i] + values[i + 1]) / 2;
      const auto even = static_cast<std::uint8_t>(i % 2 == 0 ? i : i + 1);
      EXPECT_EQ(encoded(f, middle), even) << name_of(f.dtype) << ' ' << middle;
      EXPECT_EQ(encoded(f, std::nextafter(middle, 0)), i) << name_of(f.dtype) << ' ' << middle;
      EXPECT_EQ(encoded(f, std::nextafter(middle, kInf)), i + 1) << name_of(f.dtype) << ' ' << middle;
      const unsigned sign = f.signed_zero || even != 0 ? static_cast<unsigned>(codes(f)) / 2 : 0;
      EXPECT_EQ(encoded(f, -middle), sign | even) << name_of(f.dtype) << ' ' << -middle;
    }
  }
}

TEST(Minifloat, TooLargeSaturatesOrOverflows) {
  for (const Format& f : kFormats) {
    const double step = f.largest - magnitudes(f)[magnitudes(f).size() - 2];
    for (const double value : {f.largest + 0.51 * step, 2 * f.largest, 1e300, kInf}) {
      for (const double sign : {1.0, -1.0}) {
        EXPECT_EQ(minifloat_value(f.dtype, encoded(f, sign * value)), sign * f.largest) << name_of(f.dtype);
        const double found = minifloat_value(f.dtype, encoded(f, sign * value, false));
        const double expected = f.infinity ? sign * kInf : f.nan ? kNan : sign * f.largest;
        EXPECT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected))) << name_of(f.dtype);
      }
    }
    const double last = minifloat_value(f.dtype, encoded(f, f.largest + 0.49 * step, false));
    EXPECT_EQ(last, f.largest) << name_of(f.dtype);
    const double nothing = minifloat_value(f.dtype, encoded(f, kNan));
    EXPECT_TRUE(f.nan ? std::isnan(nothing) : nothing == 0 && std::signbit(nothing)) << name_of(f.dtype);
    EXPECT_EQ(std::signbit(minifloat_value(f.dtype, encoded(f, -0.0))), f.signed_zero);
  }
}

TEST(Minifloat, PowersOfTwo) {
  const auto power = [](double value, bool saturate = true, PowerRounding rounding = PowerRounding::up) {
    return minifloat_value(DType::f8e8m0, minifloat_of(DType::f8e8m0, value, saturate, rounding));
  };
  for (int code = 0; code < 255; ++code) {
    const double value = std::ldexp(1, code - 127);
    const auto bits = static_cast<std::uint8_t>(code);
    EXPECT_EQ(minifloat_value(DType::f8e8m0, bits), value);
    for (const auto rounding : {PowerRounding::up, PowerRounding::down, PowerRounding::nearest}) {
      EXPECT_EQ(minifloat_of(DType::f8e8m0, value, false, rounding), bits);
    }
  }
  EXPECT_TRUE(std::isnan(minifloat_value(DType::f8e8m0, 255)));
  EXPECT_EQ(power(1.1), 2);
  EXPECT_EQ(power(1.9, true, PowerRounding::down), 1);
  EXPECT_EQ(power(1.49, true, PowerRounding::nearest), 1);
  EXPECT_EQ(power(1.5, true, PowerRounding::nearest), 2);
  EXPECT_EQ(power(0), 0x1p-127);
  EXPECT_EQ(power(0x1p-140), 0x1p-127);
  EXPECT_EQ(power(1e300), 0x1p127);
  EXPECT_EQ(power(kInf), 0x1p127);
  for (const double value : {0.0, 0x1p-140, 1e300, kInf}) {
    EXPECT_TRUE(std::isnan(power(value, false, PowerRounding::nearest))) << value;
  }
  EXPECT_TRUE(std::isnan(power(kNan)));
}

TEST(NarrowIntegers, EveryPatternIsSignExtended) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    const auto element = [&](DType dtype) { return static_cast<int>(element_of_bits(dtype, bits)); };
    const auto extended = [&](DType dtype) { return static_cast<std::int8_t>(element_of_bits(dtype, bits)); };
    EXPECT_EQ(element(DType::u4), bits % 16);
    EXPECT_EQ(element(DType::u2), bits % 4);
    EXPECT_EQ(element(DType::f6e3m2), bits % 64);
    EXPECT_EQ(extended(DType::i4), static_cast<int>((bits + 8) % 16) - 8);
    EXPECT_EQ(extended(DType::i2), static_cast<int>((bits + 2) % 4) - 2);
    EXPECT_EQ(element(DType::u8), bits);
    EXPECT_EQ(element(DType::boolean), bits != 0);
  }
}

}  // namespace
}  // namespace colonnade
