// SPDX-License-Identifier: Apache-2.0
// Convolution with few output channels, fp32: a vector holds pixels of one channel's plane instead of channels of one
// pixel, so that three output channels leave no lane idle. The input's rows are turned into planes first; each vector
// of them is read from there once for all output channels.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"
#include "kernels/base/unary.hpp"

namespace colonnade::kernels::planes {

/// Most output channels.
inline constexpr std::size_t kMostChannels = 12;
/// Pixels are computed in multiples of this: so many are read and written, whatever is asked for.
inline constexpr std::size_t kPixels = 16;

/// One output row, as planes: out[n * out_plane_stride + x] = epilogue(bias[n] + sum over ky, c, kx in this order of
/// weights[((ky * channels_in + c) * kernel_w + kx) * channels_out + n] *
/// rows[ky][c * plane_stride + x + kx * dilation_w]). A row that is null is skipped. Planes hold the padding's zeros,
/// and must be readable, the output and the residual written and readable, up to `pixels` rounded up to kPixels.
/// residual (null: none) is laid out as the output, which it may be; nothing else may overlap.
struct Args {
  const float* const* rows = nullptr;  ///< [kernel_h]
  std::ptrdiff_t plane_stride = 0;
  const float* weights = nullptr;
  std::size_t kernel_h = 1;
  std::size_t kernel_w = 1;
  std::size_t dilation_w = 1;
  std::size_t channels_in = 0;
  std::size_t channels_out = 0;  ///< at most kMostChannels
  std::size_t pixels = 0;
  float* out = nullptr;
  std::ptrdiff_t out_plane_stride = 0;
  const float* residual = nullptr;
  const float* bias = nullptr;  ///< null: zero
  Epilogue epilogue;            ///< its slopes by output channel
};

struct Kernel {
  const char* name;
  Isa isa;
  void (*run)(const Args&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::planes
