// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution over channels-last rows of bytes, one filter a channel: sums are exact integers, the same on
// every tier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::byte_depthwise {

enum class Type : unsigned char { u8, i8, f32, i32 };

/// Weights [channels][kernel_h][kernel_w].
struct Shape {
  std::size_t channels = 0;
  std::size_t kernel_h = 1;
  std::size_t kernel_w = 1;
};

/// Of a convolution: sum = offset + sum of (x - x_zero) * weight, v = fma(float(sum), factor, shift).
struct Numbers {
  std::uint8_t x_zero = 0;
  const std::int32_t* offset = nullptr;  ///< [channels], or null for zeros
  const float* factor = nullptr;         ///< [channels], or one; null where sums themselves are asked for
  bool factors = false;                  ///< one a channel
  const float* shift = nullptr;          ///< [channels], or null for zeros
};

/// What becomes of a sum. i32: it is the output. f32: v; bytes: clamp(round half to even(v), low, high) + zero, where
/// low and high are integers and low + zero, high + zero are bytes.
struct Output {
  Type type = Type::u8;
  std::int32_t zero = 0;
  float low = 0;
  float high = 255;
};

/// in_rows[row * kernel_h + ky] as in depthwise::Args; null rows and pixels outside [0, width_in) count as x_zero.
/// Outputs do not overlap inputs, and may be written more than once.
struct Args {
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
  std::ptrdiff_t in_pixel_stride = 0;   ///< bytes
  std::ptrdiff_t out_pixel_stride = 0;  ///< bytes
  const std::byte* weights = nullptr;   ///< as this kernel packs them, aligned to 64 bytes
  const std::byte* numbers = nullptr;   ///< as it prepares them, aligned to 64 bytes
  std::uint8_t x_zero = 0;
  Output out;
  const std::uint8_t** row_room = nullptr;  ///< for rows_of(kernel_h) pointers
};

/// Pointers that a call needs room for.
constexpr std::size_t rows_of(std::size_t kernel_h) { return (kernel_h + 4) / 4 * 4; }

struct Kernel {
  const char* name;
  Isa isa;
  std::size_t (*packed_bytes)(const Shape&) noexcept;
  void (*pack)(const Shape&, const std::int8_t* weights, std::byte* packed) noexcept;
  std::size_t (*prepared_bytes)(const Shape&) noexcept;
  /// From numbers and packed weights.
  void (*prepare)(const Shape&, const Numbers&, const std::byte* weights, std::byte* prepared) noexcept;
  void (*run)(const Args&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::byte_depthwise
