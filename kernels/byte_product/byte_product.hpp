// SPDX-License-Identifier: Apache-2.0
// Contractions over channels-last rows of bytes: unsigned inputs, signed weights, sums in int32. A matrix product, a
// pointwise and a KxK convolution, dense or in groups, are one kernel. Sums are exact but for wrapping, and become
// outputs by one formula: every tier gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::byte_product {

/// Output channels of one packed panel, on every tier.
inline constexpr std::size_t kPanel = 16;

/// How a kernel has its weights: so many products of an output side by side, which are added at once. One that `splits`
/// adds them in 16 bits first, two by two, where 255 times two weights of one sign must fit: what is more of them, its
/// rest, stands behind the panel, with the step that it belongs to.
struct Packing {
  std::size_t step = 1;
  bool splits = false;
};
/// The products of a sum: so many rows of taps, each with so many products.
struct Depth {
  std::size_t rows = 1;
  std::size_t row = 0;
};
/// A row's products with zeros up to whole steps.
constexpr std::size_t padded_row(std::size_t step, std::size_t row) { return (row + step - 1) / step * step; }
/// The most steps of a panel that may have a rest: with more of them a kernel gains nothing by splitting.
constexpr std::size_t most_rests(std::size_t steps) { return (steps + 7) / 8; }
/// Bytes of their count and of the steps they belong to, before their weights.
constexpr std::size_t rest_steps_bytes(std::size_t steps) {
  return (1 + most_rests(steps)) * sizeof(std::uint32_t) / 64 * 64 + 64;
}
/// Bytes of a panel: the sums of its weights as int32, then [rows][padded row / step][16][step] weights. Where a kernel
/// splits them, then the number of rests, the step of each, and [rests][16][step] weights.
constexpr std::size_t panel_bytes(Packing packing, Depth depth) {
  const std::size_t products = depth.rows * padded_row(packing.step, depth.row), steps = products / packing.step;
  const std::size_t rests =
      packing.splits ? rest_steps_bytes(steps) + most_rests(steps) * kPanel * packing.step : std::size_t{0};
  return kPanel * (sizeof(std::int32_t) + products) + rests;
}
/// Of weights of one group with `n` output channels.
constexpr std::size_t packed_bytes(Packing packing, Depth depth, std::size_t n) {
  return (n + kPanel - 1) / kPanel * panel_bytes(packing, depth);
}
/// Packs weights of one group. Product i of row r for output n is at source[(r * depth.row + i) * k_stride +
/// n * n_stride]. False where a panel has too many rests.
bool pack(const std::int8_t* source, std::ptrdiff_t k_stride, std::ptrdiff_t n_stride, Depth depth, std::size_t n,
          Packing packing, std::int8_t* packed) noexcept;

enum class Output : unsigned char { u8, i8, i32, f32 };

/// sum = offset + sum of (x - x_zero) * weight.
/// i32: the sum. f32: v = fma(float(sum), factor, shift), times slope where it is below zero. u8, i8: v to the nearest
/// integer, from halfway to the even one, not below low, not above high (a v that is no number is low), plus zero; low
/// and high are integers, with zero they fit the byte.
struct Rescale {
  Output to = Output::u8;
  std::int32_t zero = 0;
  float low = 0;
  float high = 255;
  const std::int32_t* offset = nullptr;  ///< groups * channels_out values, or null for zero
  const float* factor = nullptr;         ///< as many, or one where `one_factor`; not read for i32
  const float* shift = nullptr;          ///< groups * channels_out values, or null for zero
  const float* slope = nullptr;          ///< as many, or null for one
  bool one_factor = false;
};

/// A number of output rows of a convolution. Strides count bytes. A matrix product is kernel_h = kernel_w = 1 with one
/// row of width m.
///
/// in_rows[row * kernel_h + ky] is the input row that tap ky of output row `row` reads, null where it lies in the
/// padding, which counts as x_zero, as do pixels outside [0, width_in): tap kx of output pixel x reads pixel
/// x * stride_w - pad_left + kx * dilation_w.
/// Group g of `groups` reads channels_in channels of each pixel from g * channels_in on and makes channels_out ones
/// from g * channels_out on; weights of the groups follow each other, packed_bytes(packing, depth, channels_out) apart,
/// for a depth of kernel_h rows of kernel_w * channels_in products, those of a tap side by side.
/// Nothing may overlap, no alignment is required, nothing is read or written outside the rows given.
struct Args {
  std::size_t rows = 1;
  const std::uint8_t* const* in_rows = nullptr;
  void* const* out_rows = nullptr;
  std::size_t width_in = 0;
  std::size_t width_out = 0;
  std::size_t kernel_h = 1;
  std::size_t kernel_w = 1;
  std::size_t stride_w = 1;
  std::size_t dilation_w = 1;
  std::size_t pad_left = 0;
  std::size_t channels_in = 0;   ///< of one group
  std::size_t channels_out = 0;  ///< of one group
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
  const std::int8_t* weights = nullptr;  ///< packed as the kernel has them
  /// What the weights of an output are more than those packed, groups * channels_out values; null: nothing. Inputs are
  /// summed once for it, so that weights may be any that span a byte.
  const std::int32_t* tilts = nullptr;
  std::uint8_t x_zero = 0;
  Rescale out;
  std::size_t groups = 1;
  std::byte* workspace = nullptr;  ///< Kernel::workspace_bytes() bytes, 64-byte aligned
};

struct Kernel {
  const char* name;
  Isa isa;
  Packing packing;
  void (*run)(const Args&) noexcept;
  /// For what has these kernels, strides, dilations and channels and is not wider.
  std::size_t (*workspace_bytes)(const Args& sizes) noexcept;
};

/// Every kernel of this build, best first; a host runs those whose tier its features hold.
std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

/// One that splits its weights.
struct SplitKernel : Kernel {};

/// Those of this build.
std::span<const SplitKernel> split_table() noexcept;
/// The one that is faster than select(features) for weights that it can pack, or null.
const Kernel* select_split(Features features) noexcept;

}  // namespace colonnade::kernels::byte_product
