// SPDX-License-Identifier: Apache-2.0
// Kinds of types, and those of a byte or less: how many bits files keep of an element, and how the small floating-point
// formats convert.
#pragma once

#include <cstdint>

#include "colonnade/colonnade.hpp"

namespace colonnade {

/// Bits of an element in files: 2, 4, 6 or those of its bytes; 0 for `undefined` and `string`.
int bits_of(DType dtype) noexcept;

/// float32, float64, float16 or bfloat16.
bool is_float(DType dtype) noexcept;

/// The element in memory whose bits in files are the low ones of `bits`; `dtype` takes at most a byte.
std::uint8_t element_of_bits(DType dtype, unsigned bits) noexcept;

/// float8 in its five formats, float6 and float4.
bool is_minifloat(DType dtype) noexcept;

/// The value of a minifloat, exact.
double minifloat_value(DType dtype, std::uint8_t bits) noexcept;

/// Which power of two float8e8m0 takes for a value between two of them; nearest: ties go up.
enum class PowerRounding : std::uint8_t { up, down, nearest };

/// The minifloat next to a value, ties to even. What is too large becomes the largest finite number or, unless
/// `saturate`, infinity, or NaN in formats without; formats without either always saturate, and make NaN minus zero.
/// float8e8m0 has neither sign nor zero: it takes the power of two that `rounding` says, and for less than the least
/// that one or, unless `saturate`, NaN.
std::uint8_t minifloat_of(DType dtype, double value, bool saturate = true,
                          PowerRounding rounding = PowerRounding::up) noexcept;

}  // namespace colonnade
