// SPDX-License-Identifier: Apache-2.0
// Rows that are moved or interpolated, not computed: copies between strides of any type, layout changes and resizing
// of floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::move {

/// out[p][i] = in[p][i] for the `bytes` of a pixel: concat, slice, pad, split and depth-to-space are calls of this.
/// Pixel strides in bytes.
struct CopyArgs {
  std::size_t pixels = 0;
  std::size_t bytes = 0;
  const void* in = nullptr;
  void* out = nullptr;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
};

/// out[p][i] = pattern[i % 4] for the `bytes` of a pixel: an element of 1, 2 or 4 bytes, repeated. Stride in bytes, a
/// multiple of the element's.
struct FillArgs {
  std::size_t pixels = 0;
  std::size_t bytes = 0;
  void* out = nullptr;
  std::ptrdiff_t out_pixel_stride = 0;
  std::uint32_t pattern = 0;  ///< as it lies in memory
};

/// A row of planes to a row of pixels: out[p * out_pixel_stride + c] = in[c * plane_stride + p].
struct PlanesToPixelsArgs {
  std::size_t pixels = 0;
  std::size_t channels = 0;
  const float* in = nullptr;
  std::ptrdiff_t plane_stride = 0;
  float* out = nullptr;
  std::ptrdiff_t out_pixel_stride = 0;
};

/// The reverse: out[c * plane_stride + p] = in[p * in_pixel_stride + c].
struct PixelsToPlanesArgs {
  std::size_t pixels = 0;
  std::size_t channels = 0;
  const float* in = nullptr;
  std::ptrdiff_t in_pixel_stride = 0;
  float* out = nullptr;
  std::ptrdiff_t plane_stride = 0;
};

/// Matrices of elements of 1, 2, 4, 8 or 16 bytes, their lines for their columns; strides and steps in elements:
/// out[m * out_step + c * out_stride + r] = in[m * in_step + r * in_stride + c].
/// Where rows and columns lie unevenly, offsets stand for their products with strides, which are those of most.
struct TransposeArgs {
  std::size_t bytes = 1;  ///< of an element
  std::size_t rows = 0;
  std::size_t columns = 0;
  const void* in = nullptr;
  std::ptrdiff_t in_stride = 0;
  void* out = nullptr;
  std::ptrdiff_t out_stride = 0;
  const std::ptrdiff_t* row_offsets = nullptr;
  const std::ptrdiff_t* column_offsets = nullptr;  ///< null as those of rows are
  std::size_t matrices = 1;
  std::ptrdiff_t in_step = 0;
  std::ptrdiff_t out_step = 0;
};

/// One output row of a resize along width and height by a weighted sum of `taps_y` input rows and `taps_x` pixels of
/// each:
///   out[x][c] = sum_j row_weights[j] * sum_i column_weights[x * taps_x + i] * in_rows[j][columns[x * taps_x + i]][c].
/// taps 1 and weight 1 is nearest, 2 is linear, 4 is cubic. Columns lie in [0, width_in).
struct ResizeArgs {
  std::size_t width_out = 0;
  std::size_t channels = 0;
  std::size_t taps_y = 1;
  std::size_t taps_x = 1;
  const float* const* in_rows = nullptr;  ///< [taps_y]
  const float* row_weights = nullptr;     ///< [taps_y]
  const std::int32_t* columns = nullptr;  ///< [width_out * taps_x]
  const float* column_weights = nullptr;  ///< [width_out * taps_x]
  float* out = nullptr;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
};

struct Kernel {
  const char* name;
  Isa isa;
  void (*copy)(const CopyArgs&) noexcept;
  void (*fill)(const FillArgs&) noexcept;
  void (*planes_to_pixels)(const PlanesToPixelsArgs&) noexcept;
  void (*pixels_to_planes)(const PixelsToPlanesArgs&) noexcept;
  void (*resize)(const ResizeArgs&) noexcept;
  void (*transpose)(const TransposeArgs&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::move
