// SPDX-License-Identifier: Apache-2.0
// Windows over channels-last rows of bytes: the largest, and averages of what unsigned bytes stand for. Sums are exact
// integers, the same on every tier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::byte_pool {

enum class Kind : unsigned char { max, max_signed, average };
enum class Type : unsigned char { u8, i8, f32 };

/// in_rows[row * kernel_h + ky]: null rows and pixels outside [0, width_in) are skipped. The largest of no taps is the
/// least byte. Average: v = float(sum of (x - x_zero)) * (factor / (row_counts[row] * column_counts[x])); f32: v,
/// bytes: clamp(round half to even(v), low, high) + zero, where low and high are integers and low + zero, high + zero
/// bytes. Strides in bytes.
struct Args {
  Kind kind = Kind::max;
  std::size_t rows = 1;
  const std::uint8_t* const* in_rows = nullptr;
  std::byte* const* out_rows = nullptr;
  std::size_t width_in = 0;
  std::size_t width_out = 0;
  std::size_t kernel_h = 1;
  std::size_t kernel_w = 1;
  std::size_t stride_w = 1;
  std::size_t dilation_w = 1;
  std::size_t pad_left = 0;
  std::size_t channels = 0;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
  const float* row_counts = nullptr;     ///< [rows], average only, and so all below
  const float* column_counts = nullptr;  ///< [width_out]
  std::int32_t x_zero = 0;
  float factor = 1;
  Type type = Type::u8;
  std::int32_t zero = 0;
  float low = 0;
  float high = 255;
};

using Fn = void (*)(const Args&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  Fn run;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::byte_pool
