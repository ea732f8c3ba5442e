// SPDX-License-Identifier: Apache-2.0
// Reductions and normalisations over channels-last rows, fp32: softmax and layer norm over the channels of each pixel,
// per-channel reductions over the pixels of a row, per-channel moments (instance norm), local response norm.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::norm {

/// Softmax of the `channels` values of each pixel (the largest is subtracted first); `log`: its logarithm. In place
/// is allowed. Pixel strides in floats.
struct SoftmaxArgs {
  std::size_t pixels = 0;
  std::size_t channels = 0;
  const float* in = nullptr;
  float* out = nullptr;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
  bool log = false;
};

/// out = (x - mean) / sqrt(variance + epsilon) * scale[c] + bias[c] over the channels of each pixel, two passes. bias
/// may be null. `rms`: no mean is subtracted (root mean square norm). In place is allowed.
struct LayerNormArgs {
  std::size_t pixels = 0;
  std::size_t channels = 0;
  const float* in = nullptr;
  float* out = nullptr;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
  const float* scale = nullptr;
  const float* bias = nullptr;
  float epsilon = 0;
  bool rms = false;
};

/// Softmax of `size` values `stride` floats apart, for `count` lines side by side: value i of line k is
/// in[i * stride + k]. In place is allowed.
struct SoftmaxAcrossArgs {
  std::size_t size = 0;
  std::size_t count = 0;
  const float* in = nullptr;
  float* out = nullptr;
  std::ptrdiff_t stride = 0;
  bool log = false;
};

/// out = (x - mean) / sqrt(variance + epsilon) * scale + bias over `count` values side by side, two passes. In place is
/// allowed.
struct LineNormArgs {
  std::size_t count = 0;
  const float* in = nullptr;
  float* out = nullptr;
  float scale = 1;
  float bias = 0;
  float epsilon = 0;
};

enum class Reduction : unsigned char { sum, mean, max, min, prod, l1, l2, log_sum, log_sum_exp, sum_square };
inline constexpr int kReductionCount = static_cast<int>(Reduction::sum_square) + 1;

/// out[l][c] = reduction over p of in[l][p][c] for the `lines`, in order of p in blocks that depend on `pixels` only.
/// out is dense.
struct ReduceArgs {
  Reduction op = Reduction::sum;
  std::size_t pixels = 0;
  std::size_t channels = 0;
  const float* in = nullptr;
  float* out = nullptr;
  std::ptrdiff_t in_pixel_stride = 0;
  std::size_t lines = 1;
  std::ptrdiff_t in_line_stride = 0;
};

/// The least and the most of `count` values and zero; both are not a number where one of the values is not.
struct RangeArgs {
  const float* in = nullptr;
  std::size_t count = 0;
  float* least = nullptr;
  float* most = nullptr;
};

/// Per-channel mean and variance over all pixels of an image, two passes, then
/// out = (x - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + bias[c]. `scratch`: 2 * channels floats.
/// In place is allowed.
struct InstanceNormArgs {
  std::size_t pixels = 0;
  std::size_t channels = 0;
  const float* in = nullptr;
  float* out = nullptr;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
  const float* scale = nullptr;
  const float* bias = nullptr;
  float epsilon = 0;
  float* scratch = nullptr;
};

/// out[c] = in[c] / (bias + alpha / size * sum of in[j]^2 over j in [c - (size-1)/2, c + size/2])^beta.
struct LrnArgs {
  std::size_t pixels = 0;
  std::size_t channels = 0;
  const float* in = nullptr;
  float* out = nullptr;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
  std::size_t size = 1;
  float alpha = 0;
  float beta = 0;
  float bias = 0;
};

struct Kernel {
  const char* name;
  Isa isa;
  void (*softmax)(const SoftmaxArgs&) noexcept;
  void (*softmax_across)(const SoftmaxAcrossArgs&) noexcept;
  void (*layer_norm)(const LayerNormArgs&) noexcept;
  void (*line_norm)(const LineNormArgs&) noexcept;
  void (*reduce)(const ReduceArgs&) noexcept;
  void (*range)(const RangeArgs&) noexcept;
  void (*instance_norm)(const InstanceNormArgs&) noexcept;
  void (*lrn)(const LrnArgs&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::norm
