// SPDX-License-Identifier: Apache-2.0
// The core operators on bytes that stand for numbers: (q - zero point) * scale. All of them compute exact integers and
// round once, by the formulas given here, so that kernels of every tier give the same bits. operators.hpp lists all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "colonnade/colonnade.hpp"
#include "graph/elementwise.hpp"
#include "graph/sums.hpp"

namespace colonnade {

/// inputs x (f32), scale (f32), zero point (of type `to`, u8 or i8) or absent: x / scale rounded to nearest even, plus
/// the zero point, saturated; not a number becomes the byte 0. Scale and zero point have one element, or one for each
/// index of `axis`.
struct Quantize {
  DType to = DType::u8;
  std::int64_t axis = 1;
  bool operator==(const Quantize&) const = default;
};
/// inputs x (u8, i8, i32), scale (f32), zero point (of x's type) or absent: (float(x) - float(zero point)) * scale.
/// With a block: of a matrix x (u8, i8, u4, i4, u2, i2) whose scales (f32, f16, bf16) and zero points (of x's type or a
/// scale's) are matrices themselves, one for so many elements along the axis. `byte_rows`: rows that they multiply may
/// be rounded to bytes, a scale a block.
struct Dequantize {
  std::int64_t axis = 1;
  std::int64_t block = 0;
  bool byte_rows = false;
  bool operator==(const Dequantize&) const = default;
};
/// input x (f32): the scale (f32) and the zero point (u8), one element each, with which bytes reach from the least to
/// the most of its numbers and zero, as DynamicQuantizeLinear has them. Not a number: the scale, and a zero point of 0.
struct ByteScale {
  bool operator==(const ByteScale&) const = default;
};
/// The least and the most of some numbers and zero; what is not a number stays, once it is met.
struct NumberRange {
  float least = 0, most = 0;

  NumberRange joined(const NumberRange& other) const {
    return {std::isnan(least) || least <= other.least ? least : other.least,
            std::isnan(most) || most >= other.most ? most : other.most};
  }
  float scale() const { return most == least ? 1 : (most - least) / 255; }
  std::uint8_t zero_point() const {
    const float origin = std::nearbyint((0 - least) / scale());
    return origin > 0 ? static_cast<std::uint8_t>(std::min(origin, 255.0f)) : std::uint8_t{0};
  }
};
/// inputs x (u8, i8), a table of 256 elements: y = table[x as an unsigned byte], of the table's type.
struct Lookup {
  bool operator==(const Lookup&) const = default;
};

/// How a number v becomes an output. f32: v. u8, i8: v rounded to nearest even and clamped to [low, high], plus zero.
/// low and high are integers.
struct Rescale {
  DType to = DType::u8;
  std::int32_t zero = 0;
  float low = 0, high = 255;
  bool operator==(const Rescale&) const = default;
};

/// Convolution of bytes. inputs x (u8), weight (as Conv's, i8, or i16 from -256 to 254: graph/byte_weights.hpp), x's
/// zero point (u8, one element) or absent, offset (i32 [O]) or absent, factor (f32, one element or [O]), shift (f32
/// [O]) or absent, slope (f32 [O]) or absent. sum = offset + sum of (x - zero point) * weight in int32, which wraps;
/// padding counts as the zero point. v = fma(float(sum), factor, shift), with a shift of zero where there is none; v *
/// slope where it is below zero and there is one. With out.to == i32 the sum itself, and no factor. The window has no
/// epilogue.
struct ByteConv {
  Conv window;
  Rescale out;
  bool operator==(const ByteConv&) const = default;
};
/// The same for x [.., K] and weight [K, N].
struct ByteMatMul {
  Rescale out;
  bool operator==(const ByteMatMul&) const = default;
};
/// Product of bytes, inputs a, b (u8 or i8, two axes or more), a's zero point and b's (of its type, one element), each
/// may be absent: the matrix product of a - a's zero point and b - b's, in int32, which wraps.
struct IntegerMatMul {
  bool operator==(const IntegerMatMul&) const = default;
};
/// inputs a, b (u8), ONNX broadcasting. add: v = fma(float(a - a_zero), a_factor, float(b - b_zero) * b_factor).
/// mul: v = float((a - a_zero) * (b - b_zero)) * a_factor.
struct ByteBinary {
  BinaryKind kind = BinaryKind::add;
  std::int32_t a_zero = 0, b_zero = 0;
  float a_factor = 1, b_factor = 1;
  Rescale out;
  bool operator==(const ByteBinary&) const = default;
};
/// Averages of windows of bytes (u8): v = float(sum of (x - x_zero)) * (factor / float(count)), counted as by Pool,
/// 0 of nothing.
struct ByteAverage {
  Pool window;
  std::int32_t x_zero = 0;
  float factor = 1;
  Rescale out;
  bool operator==(const ByteAverage&) const = default;
};

}  // namespace colonnade
