// SPDX-License-Identifier: Apache-2.0
#include "base/narrow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace colonnade {
namespace {

/// A format of a sign, an exponent and a mantissa. A code is what lies below the sign: it counts magnitudes upwards.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  unsigned largest;   ///< code of the largest finite magnitude
  unsigned overflow;  ///< bits of what is larger: infinity, NaN or the largest
  unsigned nan;       ///< bits of NaN, which the sign joins

  int width() const { return exponent_bits + mantissa_bits; }
  unsigned sign() const { return 1u << width(); }
  /// The bits of minus zero are the only NaN, and zero has no sign.
  bool is_unsigned_zero() const { return largest + 1 == sign() && overflow == sign(); }
};

constexpr Format kF8e4m3fn{4, 3, 7, 0x7e, 0x7f, 0x7f};
constexpr Format kF8e4m3fnuz{4, 3, 8, 0x7f, 0x80, 0x80};
constexpr Format kF8e5m2{5, 2, 15, 0x7b, 0x7c, 0x7e};
constexpr Format kF8e5m2fnuz{5, 2, 16, 0x7f, 0x80, 0x80};
constexpr Format kF6e2m3{2, 3, 1, 0x1f, 0x1f, 0x20};
constexpr Format kF6e3m2{3, 2, 3, 0x1f, 0x1f, 0x20};
constexpr Format kF4e2m1{2, 1, 1, 0x7, 0x7, 0x8};

const Format* format_of(DType dtype) {
  if (dtype == DType::f8e4m3fn) return &kF8e4m3fn;
  if (dtype == DType::f8e4m3fnuz) return &kF8e4m3fnuz;
  if (dtype == DType::f8e5m2) return &kF8e5m2;
  if (dtype == DType::f8e5m2fnuz) return &kF8e5m2fnuz;
  if (dtype == DType::f6e2m3) return &kF6e2m3;
  if (dtype == DType::f6e3m2) return &kF6e3m2;
  if (dtype == DType::f4e2m1) return &kF4e2m1;
  return nullptr;
}

constexpr int kPowerBias = 127;
constexpr int kLargestPower = 254;
constexpr std::uint8_t kPowerNan = 255;

std::uint8_t power_of(double value, bool saturate, PowerRounding rounding) {
  const double magnitude = std::abs(value);
  if (std::isnan(value)) return kPowerNan;
  if (magnitude == 0) return saturate ? 0 : kPowerNan;
  if (std::isinf(value)) return saturate ? kLargestPower : kPowerNan;
  int exponent = std::ilogb(magnitude);
  const double rest = std::ldexp(magnitude, -exponent);
  const bool is_up = rounding == PowerRounding::up ? rest > 1 : rounding == PowerRounding::nearest && rest >= 1.5;
  exponent += (is_up ? 1 : 0) + kPowerBias;
  if (exponent >= 0 && exponent <= kLargestPower) return static_cast<std::uint8_t>(exponent);
  return saturate ? static_cast<std::uint8_t>(exponent < 0 ? 0 : kLargestPower) : kPowerNan;
}

/// Code of the magnitude next to a finite one; beyond the largest for what overflows.
unsigned code_of(const Format& format, double magnitude) {
  const int least = 1 - format.bias;  // exponent of the least normal number, and of the subnormal ones
  const int exponent = magnitude == 0 ? least : std::max(std::ilogb(magnitude), least);
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  return (static_cast<unsigned>(exponent - least) << format.mantissa_bits) + static_cast<unsigned>(units);
}

}  // namespace

int bits_of(DType dtype) noexcept {
  if (dtype == DType::i2 || dtype == DType::u2) return 2;
  if (dtype == DType::i4 || dtype == DType::u4 || dtype == DType::f4e2m1) return 4;
  if (dtype == DType::f6e2m3 || dtype == DType::f6e3m2) return 6;
  return static_cast<int>(8 * size_of(dtype));
}

bool is_float(DType dtype) noexcept {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

std::uint8_t element_of_bits(DType dtype, unsigned bits) noexcept {
  const unsigned top = 1u << (bits_of(dtype) - 1);
  const unsigned low = bits & (2 * top - 1);
  if (dtype == DType::boolean) return low != 0;
  const bool is_negative = (dtype == DType::i2 || dtype == DType::i4) && (low & top) != 0;
  return static_cast<std::uint8_t>(is_negative ? low - 2 * top : low);
}

bool is_minifloat(DType dtype) noexcept { return dtype == DType::f8e8m0 || format_of(dtype) != nullptr; }

double minifloat_value(DType dtype, std::uint8_t bits) noexcept {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (dtype == DType::f8e8m0) return bits == kPowerNan ? kNan : std::ldexp(1, bits - kPowerBias);
  const Format& format = *format_of(dtype);
  const unsigned code = bits & (format.sign() - 1);
  const double sign = (bits & format.sign()) != 0 ? -1 : 1;
  if (format.is_unsigned_zero() && bits == format.nan) return kNan;
  if (code > format.largest) {
    return code == format.overflow && code != format.nan ? sign * std::numeric_limits<double>::infinity() : kNan;
  }
  const auto exponent = static_cast<int>(code >> format.mantissa_bits);
  const unsigned one = exponent == 0 ? 0 : 1u << format.mantissa_bits;
  const unsigned mantissa = one | (code & ((1u << format.mantissa_bits) - 1));
  return sign * std::ldexp(mantissa, std::max(exponent, 1) - format.bias - format.mantissa_bits);
}

std::uint8_t minifloat_of(DType dtype, double value, bool saturate, PowerRounding rounding) noexcept {
  if (dtype == DType::f8e8m0) return power_of(value, saturate, rounding);
  const Format& format = *format_of(dtype);
  const unsigned sign = std::signbit(value) ? format.sign() : 0;
  if (std::isnan(value)) return static_cast<std::uint8_t>(sign | format.nan);
  const unsigned code = std::isinf(value) ? format.sign() : code_of(format, std::abs(value));
  if (code == 0 && format.is_unsigned_zero()) return 0;
  if (code <= format.largest) return static_cast<std::uint8_t>(sign | code);
  return static_cast<std::uint8_t>(sign | (saturate ? format.largest : format.overflow));
}

}  // namespace colonnade
