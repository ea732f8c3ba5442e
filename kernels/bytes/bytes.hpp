// SPDX-License-Identifier: Apache-2.0
// Rows of bytes that stand for numbers: to and from floats, through tables, sums and products of two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::bytes {

enum class Type : unsigned char { u8, i8, u16, i16, i32, f32 };

/// Pixels of channels; strides in elements. Inputs and outputs do not overlap.
struct Pixels {
  std::size_t pixels = 0;
  std::size_t channels = 0;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
};

/// What integers stand for: (q - zero) * scale. The parameters of channel c of pixel p are number p * pixel_step +
/// c * channel_step; steps are 0 or 1, one of them 0. Zero points have the type of the integers.
struct Parameters {
  const float* scale = nullptr;
  const void* zero = nullptr;
  std::ptrdiff_t pixel_step = 0;
  std::ptrdiff_t channel_step = 0;
};

/// out = in / scale, a quotient rounded as division does, then rounded to an integer, half to even, plus zero,
/// saturated; NaN becomes 0.
struct QuantizeArgs {
  Pixels rows;
  Parameters parameters;
  const float* in = nullptr;
  void* out = nullptr;
};

/// out = (float(in) - float(zero)) * scale.
struct DequantizeArgs {
  Pixels rows;
  Parameters parameters;
  const void* in = nullptr;
  float* out = nullptr;
};

/// out = table[in]; the table has 256 elements.
struct LookupArgs {
  Pixels rows;
  const std::uint8_t* in = nullptr;
  const void* table = nullptr;
  void* out = nullptr;
};

enum class Binary : unsigned char { add, mul };

/// A channel stride is 0 (one value for all channels) or 1, a pixel stride of 0 gives every pixel the same values.
struct Operand {
  const std::uint8_t* bytes = nullptr;
  std::ptrdiff_t pixel_stride = 0;
  std::ptrdiff_t channel_stride = 1;
  std::int32_t zero = 0;
  float factor = 1;
};

/// add: v = fma(a - a.zero, a.factor, (b - b.zero) * b.factor). mul: v = float((a - a.zero) * (b - b.zero)) * a.factor.
/// out is v, or of bytes v clamped to [low, high], a NaN to low, rounded half to even, plus zero; low and high are
/// integers, and with zero added such as a byte holds. out overlaps neither operand.
struct BinaryArgs {
  Binary op = Binary::add;
  std::size_t pixels = 0;
  std::size_t channels = 0;
  Operand a, b;
  void* out = nullptr;
  std::ptrdiff_t out_pixel_stride = 0;
  std::int32_t zero = 0;
  float low = 0, high = 255;
};

using QuantizeFn = void (*)(const QuantizeArgs&) noexcept;
using DequantizeFn = void (*)(const DequantizeArgs&) noexcept;
using LookupFn = void (*)(const LookupArgs&) noexcept;
using BinaryFn = void (*)(const BinaryArgs&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  QuantizeFn (*quantize)(Type to) noexcept;        ///< to u8, i8, u16 and i16
  DequantizeFn (*dequantize)(Type from) noexcept;  ///< from u8, i8 and i32
  LookupFn lookup_bytes;
  LookupFn lookup_floats;
  BinaryFn (*binary)(Type to) noexcept;  ///< not to i32
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::bytes
