// SPDX-License-Identifier: Apache-2.0
// The float8 formats of ONNX as floats and back (Micikevicius and others, FP8 formats for deep learning, 2022; Noune
// and others, 8-bit numerical formats for deep neural networks, 2022), in code that the compiler vectorises.
#pragma once

#include <cstdint>

#include "kernels/convert/bits.hpp"

namespace colonnade::kernels::convert {
namespace {

/// A sign, an exponent and `mantissa` bits. A code is what lies below the sign: it counts magnitudes upwards.
struct Format {
  unsigned mantissa, bias;
  std::uint32_t largest;  ///< code of the largest finite magnitude
  std::uint32_t nan;      ///< its bits, which the sign joins
  bool has_infinity;      ///< the code after `largest`
  bool has_minus_zero;    ///< else its bits are the only NaN
};

template <Format kFormat>
struct Minifloat {
  std::uint8_t bits;
};
using F8e4m3fn = Minifloat<Format{3, 7, 0x7e, 0x7f, false, true}>;
using F8e4m3fnuz = Minifloat<Format{3, 8, 0x7f, 0x80, false, false}>;
using F8e5m2 = Minifloat<Format{2, 15, 0x7b, 0x7e, true, true}>;
using F8e5m2fnuz = Minifloat<Format{2, 16, 0x7f, 0x80, false, false}>;

/// 2^power, a normal float.
constexpr float power_of_two(int power) {
  return power < 0 ? power_of_two(power + 1) / 2 : power > 0 ? power_of_two(power - 1) * 2 : 1;
}

template <Format F>
inline float to_float(Minifloat<F> x) {
  constexpr float kUnit = power_of_two(1 - static_cast<int>(F.bias + F.mantissa));  // of the subnormal numbers
  const std::uint32_t code = x.bits & 0x7fu;
  const float small = static_cast<float>(static_cast<std::int32_t>(code)) * kUnit;
  const std::uint32_t normal = (code << (23 - F.mantissa)) + ((127 - F.bias) << 23);
  const std::uint32_t number = code >> F.mantissa == 0 ? bits_of(small) : normal;
  const std::uint32_t sign = (x.bits & 0x80u) << 24;
  if constexpr (!F.has_minus_zero) return float_of(x.bits == 0x80u ? kInfinity | kQuiet : sign | number);
  const std::uint32_t finite = code > F.largest ? kInfinity : number;
  return float_of(code > F.largest + (F.has_infinity ? 1 : 0) ? kInfinity | kQuiet : sign | finite);
}

/// Rounded to nearest even; what is too large becomes the largest. Below the least normal number, adding a power of two
/// leaves units of the subnormal ones.
template <Format F>
inline void from_float(float x, Minifloat<F>& y) {
  constexpr float kShift = power_of_two(24 - static_cast<int>(F.bias + F.mantissa));
  constexpr std::uint32_t kLeastNormal = (128 - F.bias) << 23, kHalf = (1u << (22 - F.mantissa)) - 1;
  const std::uint32_t bits = bits_of(x), magnitude = bits & kMagnitude;
  const std::uint32_t small = bits_of(float_of(magnitude < kLeastNormal ? magnitude : 0) + kShift) - bits_of(kShift);
  const std::uint32_t odd = magnitude >> (23 - F.mantissa) & 1u;
  const std::uint32_t normal = (magnitude - ((127 - F.bias) << 23) + kHalf + odd) >> (23 - F.mantissa);
  const std::uint32_t rounded = magnitude < kLeastNormal ? small : normal;
  const std::uint32_t code = rounded < F.largest ? rounded : F.largest;
  const std::uint32_t sign = F.has_minus_zero || code != 0 ? bits >> 24 & 0x80u : 0;
  const std::uint32_t nan = F.nan | (bits >> 24 & 0x80u);
  y.bits = static_cast<std::uint8_t>(magnitude > kInfinity ? nan : sign | code);
}

}  // namespace
}  // namespace colonnade::kernels::convert
