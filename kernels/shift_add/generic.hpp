// SPDX-License-Identifier: Apache-2.0
// The loops of every tier: pixel by pixel, a vector of channels at a time, tap after tap.
#pragma once

#include "kernels/base/simd.hpp"
#include "kernels/base/vector_math.hpp"
#include "kernels/shift_add/shift_add.hpp"

namespace colonnade::kernels::shift_add {
namespace {

/// The taps [begin, end) that output pixel x reads inside the input.
struct Taps {
  std::size_t begin;
  std::size_t end;
};

inline Taps taps_of(const Args& a, std::size_t x) {
  Taps taps{0, a.kernel_w};
  while (taps.begin < taps.end && x + taps.begin * a.dilation_w < a.pad_left) ++taps.begin;
  while (taps.end > taps.begin && x + (taps.end - 1) * a.dilation_w >= a.width_in + a.pad_left) --taps.end;
  return taps;
}

template <class Function>
inline void add_pixel(const Args& a, const Function& function, std::size_t x, std::size_t channel) {
  const std::size_t left = a.channels - channel;
  const std::size_t lanes = left < Vec::kLanes ? left : Vec::kLanes;
  const Taps taps = taps_of(a, x);
  Vec sum = a.bias == nullptr ? zero() : load_first(a.bias + channel, lanes);
  const std::size_t step = a.dilation_w * a.product_stride + a.channels;
  const auto first =
      static_cast<std::ptrdiff_t>(x + taps.begin * a.dilation_w) - static_cast<std::ptrdiff_t>(a.pad_left);
  const float* product = a.products + first * static_cast<std::ptrdiff_t>(a.product_stride) +
                         static_cast<std::ptrdiff_t>(taps.begin * a.channels + channel);
  for (std::size_t kx = taps.begin; kx < taps.end; ++kx, product += step) sum = sum + load(product);
  const auto pixel = static_cast<std::ptrdiff_t>(x);
  const Vec residual =
      a.residual == nullptr
          ? zero()
          : load_first(a.residual + pixel * a.residual_pixel_stride + static_cast<std::ptrdiff_t>(channel), lanes);
  const bool after = a.epilogue.residual_after;
  if (a.residual != nullptr && !after) sum = sum + residual;
  const float* slope = a.epilogue.activation.slope;
  sum = call_first(function, sum, slope == nullptr ? nullptr : slope + channel, lanes);
  if (a.residual != nullptr && after) sum = sum + residual;
  store_first(a.out + pixel * a.out_pixel_stride + static_cast<std::ptrdiff_t>(channel), sum, lanes);
}

inline void run_generic(const Args& a) noexcept {
  with_fused_unary(a.epilogue.activation, [&](const auto& function) {
    for (std::size_t x = 0; x < a.width_out; ++x)
      for (std::size_t channel = 0; channel < a.channels; channel += Vec::kLanes) add_pixel(a, function, x, channel);
  });
}

}  // namespace
}  // namespace colonnade::kernels::shift_add
