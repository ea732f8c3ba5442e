// SPDX-License-Identifier: Apache-2.0
// Max and average pooling, fp32: over channels-last rows, over taps that are given, and over planes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::pool {

enum class Kind : unsigned char { max, average };

/// in_rows[row * kernel_h + ky]: as gemm::ConvArgs (null rows and pixels outside [0, width_in) are skipped).
/// Average: the sum over existing taps times 1 / (row_counts[row] * column_counts[x]), where the caller's counts say
/// how many rows and columns the divisor counts (they differ with count_include_pad). Max of no tap is -infinity.
struct Args {
  Kind kind = Kind::max;
  std::size_t rows = 1;
  const float* const* in_rows = nullptr;
  float* const* out_rows = nullptr;
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
  const float* row_counts = nullptr;     ///< [rows], average only
  const float* column_counts = nullptr;  ///< [width_out], average only
};

using Fn = void (*)(const Args&) noexcept;

/// One output pixel of windows over any axes: `taps` input pixels at in[t], of which positions[t] says where they lie.
struct TapsArgs {
  std::size_t channels = 0;
  std::size_t taps = 0;
  const float* const* in = nullptr;         ///< [taps]
  const std::int32_t* positions = nullptr;  ///< [taps], of the largest alone
  float* out = nullptr;                     ///< [channels]
  std::int32_t* out_positions = nullptr;    ///< [channels]
  int power = 2;                            ///< of sums of powers
};

/// largest: the first largest value, and the position it came from; a NaN is larger than what came before, the last one
/// wins. -1 and the lowest float of no taps. powers: the sum of |x|^power to 1 / power.
using TapsFn = void (*)(const TapsArgs&) noexcept;

/// Rows of planes, whose pixels lie side by side: out[row * width_out + x] as Args has it. The rows that a window sees
/// are folded into a line of the workspace first, and the windows of all lines then.
struct LinesArgs {
  Kind kind = Kind::max;
  std::size_t rows = 1;
  const float* const* in_rows = nullptr;  ///< [rows * kernel_h], null where there is none
  float* out = nullptr;
  std::size_t width_in = 0;
  std::size_t width_out = 0;
  std::size_t kernel_h = 1;
  std::size_t kernel_w = 1;
  std::size_t stride_w = 1;
  std::size_t dilation_w = 1;
  std::size_t pad_left = 0;
  const float* row_counts = nullptr;     ///< [rows], average only
  const float* column_counts = nullptr;  ///< [width_out], average only
  float* workspace = nullptr;            ///< workspace_floats(*this)
  bool fresh = true;  ///< false: the workspace is as a call left it that had as many rows or more, else the same
};

/// Most lanes of any tier.
inline constexpr std::size_t kMostLanes = 16;

/// Floats of a line with its padding, and what vectors read behind it.
constexpr std::size_t line_floats(const LinesArgs& a) noexcept {
  const std::size_t read = (a.width_out + kMostLanes) * a.stride_w + a.kernel_w * a.dilation_w + kMostLanes;
  const std::size_t written = a.pad_left + a.width_in;
  return read > written ? read : written;
}
/// Lines, and what the sums of a row are multiplied by.
constexpr std::size_t workspace_floats(const LinesArgs& a) noexcept {
  return a.rows * line_floats(a) + a.width_out + kMostLanes;
}

using LinesFn = void (*)(const LinesArgs&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  Fn run;
  TapsFn largest;
  TapsFn powers;
  LinesFn lines;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::pool
