// SPDX-License-Identifier: Apache-2.0
// The second half of a convolution with few output channels, fp32. The first half is a matrix product that makes, for
// each input pixel, the contribution of every tap of a kernel row to every output channel; this one adds for each
// output pixel the contributions that belong to it. Lanes that would idle in a convolution of three output channels
// hold other taps instead (kn2row: Vasudevan, Anderson and Gregg, "Parallel multi channel convolution using general
// matrix multiplication", 2017; here along the width only).
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"
#include "kernels/base/unary.hpp"

namespace colonnade::kernels::shift_add {

/// One output row. products[x * product_stride + kx * channels + c] is what input pixel x adds to channel c of the
/// output pixel that reads it as tap kx; output pixel x reads pixel x - pad_left + kx * dilation_w, those outside [0,
/// width_in) are skipped. Sums run in the order of kx from the bias on (null: zero). After the last product kReadPast
/// floats must be readable. out may equal residual (null: none); nothing else may overlap.
struct Args {
  const float* products = nullptr;
  std::size_t product_stride = 0;
  std::size_t width_in = 0;
  std::size_t width_out = 0;
  std::size_t kernel_w = 1;
  std::size_t dilation_w = 1;
  std::size_t pad_left = 0;
  std::size_t channels = 0;
  float* out = nullptr;
  const float* residual = nullptr;
  std::ptrdiff_t out_pixel_stride = 0;
  std::ptrdiff_t residual_pixel_stride = 0;
  const float* bias = nullptr;
  Epilogue epilogue;
};

inline constexpr std::size_t kReadPast = 16;

using Fn = void (*)(const Args&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  Fn run;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Isa isa) noexcept;

}  // namespace colonnade::kernels::shift_add
