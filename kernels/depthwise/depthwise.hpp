// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution over channels-last rows, fp32, one filter a channel. Sums start from the bias and run in the
// order (ky, kx); skipped taps add nothing.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"
#include "kernels/base/unary.hpp"

namespace colonnade::kernels::depthwise {

/// As gemm::ConvArgs, with weights [kernel_h][kernel_w][weight_stride] of which `channels` are used: a caller runs a
/// range of channels by offsetting all pointers. residual_rows may be null.
struct Args {
  std::size_t rows = 1;
  const float* const* in_rows = nullptr;
  float* const* out_rows = nullptr;
  const float* const* residual_rows = nullptr;
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
  std::ptrdiff_t residual_pixel_stride = 0;
  const float* weights = nullptr;
  std::ptrdiff_t weight_stride = 0;  ///< floats from tap to tap
  const float* bias = nullptr;
  Epilogue epilogue;
};

using Fn = void (*)(const Args&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  Fn run;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::depthwise
