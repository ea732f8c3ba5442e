// SPDX-License-Identifier: Apache-2.0
// Powers of floats by doubles, a loop for the compiler to vectorise: few terms, as only a float is asked for, and each
// choice by one comparison, as of several at once GCC makes no vectors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace colonnade::kernels::elementwise {
namespace {

/// log2 x for a double that was a positive float, within 2^-39 of itself: x = 2^k (1 + f) with 1 + f from sqrt 1/2 to
/// sqrt 2, and log(1 + f) = 2 atanh s with s = f / (2 + f).
inline double log2_of_float(double x) {
  constexpr std::uint64_t kOne = 0x3ff0000000000000, kRoot = 0x3fe6a09e667f3bcd, kMantissa = 0x000fffffffffffff;
  const std::uint64_t bits = __builtin_bit_cast(std::uint64_t, x) + (kOne - kRoot);
  const std::uint64_t exponent = bits >> 52 | __builtin_bit_cast(std::uint64_t, 0x1p52);
  const double k = __builtin_bit_cast(double, exponent) - (0x1p52 + 1023);
  const double f = __builtin_bit_cast(double, (bits & kMantissa) + kRoot) - 1.0;
  const double s = f / (2.0 + f), z = s * s, z2 = z * z;
  const double low = (1.0 / 3 * z + 1.0) + z2 * (1.0 / 7 * z + 1.0 / 5);
  const double high = (1.0 / 11 * z + 1.0 / 9) + z2 * (1.0 / 13);
  constexpr double kTwoOverLn2 = 2.8853900817779268;
  return kTwoOverLn2 * s * (low + z2 * z2 * high) + k;
}

/// 2^y within 2^-32 of itself, where a float holds it; less than any float and more than any beyond.
inline double exp2_for_float(double y) {
  constexpr double kMagic = 0x1.8p52, kLeast = -160, kMost = 140;
  const double above = y < kLeast ? kLeast : y, x = above > kMost ? kMost : above;
  const double shifted = x + kMagic, r = x - (shifted - kMagic), r2 = r * r, r4 = r2 * r2;
  const double low = (0.6931471805599453 * r + 1.0) + r2 * (0.055504108664821576 * r + 0.2402265069591007);
  const double high =
      (0.0013333558146428441 * r + 0.009618129107628477) + r2 * (1.5252733804059838e-05 * r + 0.00015403530393381606);
  const std::uint64_t n = __builtin_bit_cast(std::uint64_t, shifted) - __builtin_bit_cast(std::uint64_t, kMagic);
  const double scale = __builtin_bit_cast(double, (n + 1023) << 52);
  return scale * (low + r4 * (high + r4 * 1.3215486790144305e-06));
}

/// 2^(b log2 |a|); zeros, infinities and signs as C's pow has them.
inline float power(float a, float b) {
  constexpr double kMagic = 0x1.8p52, kEven = 0x1p26, kInfinity = __builtin_inf();  // floats from 2^24 on are even
  const double base = a, exponent = b, size = __builtin_fabs(base);
  const double of_finite = log2_of_float(size) + (size - size);
  const double of_number = size == kInfinity ? kInfinity : of_finite;
  const double logarithm = size == 0.0 ? -kInfinity : of_number;
  const double grown = exp2_for_float(exponent * logarithm);
  const double unless_zero = exponent == 0.0 ? 1.0 : grown;
  const double result = size == 1.0 ? 1.0 : unless_zero;
  const double above = exponent < -kEven ? -kEven : exponent, n = above > kEven ? kEven : above, half = 0.5 * n;
  const double to_integer = (half + kMagic) - kMagic == half ? result : __builtin_copysign(result, base);
  const double root = base < 0.0 ? __builtin_nan("") : result;
  const double to_fraction = size == kInfinity ? result : root;
  return static_cast<float>((n + kMagic) - kMagic == n ? to_integer : to_fraction);
}

/// For the compiler to vectorise; the result may take an operand's place. Steps are 0 or 1.
template <std::size_t kBaseStep, std::size_t kExponentStep>
inline void power_row(const float* a, const float* b, float* out, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) out[i] = power(a[kBaseStep * i], b[kExponentStep * i]);
}

}  // namespace
}  // namespace colonnade::kernels::elementwise
