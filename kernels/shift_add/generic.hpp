// SPDX-License-Identifier: Apache-2.0
// The loops of every tier: pixel by pixel, a vector of channels at a time, tap after tap.
#pragma once

#include <type_traits>

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

/// Output pixels [begin, end) read all taps.
inline Taps whole_pixels(const Args& a) {
  const std::size_t reach = (a.kernel_w - 1) * a.dilation_w;
  const std::size_t begin = a.pad_left < a.width_out ? a.pad_left : a.width_out;
  const std::size_t readable = a.width_in + a.pad_left;
  const std::size_t end = readable < reach + begin ? begin : readable - reach;
  return {begin, end < a.width_out ? end : a.width_out};
}

/// The channels [channel, channel + lanes) of a row, at most a vector of them.
template <class Function>
struct RowSum {
  const Args& a;
  const Function& function;
  std::size_t channel;
  std::size_t lanes;
  Vec bias;

  [[gnu::always_inline]] void pixel(std::size_t x, Taps taps) const {
    const std::size_t step = a.dilation_w * a.product_stride + a.channels;
    const auto first =
        static_cast<std::ptrdiff_t>(x + taps.begin * a.dilation_w) - static_cast<std::ptrdiff_t>(a.pad_left);
    const float* product = a.products + first * static_cast<std::ptrdiff_t>(a.product_stride) +
                           static_cast<std::ptrdiff_t>(taps.begin * a.channels + channel);
    Vec sum = bias;
    for (std::size_t kx = taps.begin; kx < taps.end; ++kx, product += step) sum = sum + load(product);
    const auto at = static_cast<std::ptrdiff_t>(x);
    const auto first_channel = static_cast<std::ptrdiff_t>(channel);
    Vec residual = zero();
    if (a.residual != nullptr) residual = load_first(a.residual + at * a.residual_pixel_stride + first_channel, lanes);
    const bool after = a.epilogue.residual_after;
    if (!after) sum = sum + residual;
    const float* slope = a.epilogue.activation.slope;
    sum = call_first(function, sum, slope == nullptr ? nullptr : slope + channel, lanes);
    if (after) sum = sum + residual;
    store_first(a.out + at * a.out_pixel_stride + first_channel, sum, lanes);
  }
};

inline void run_generic(const Args& a) noexcept {
  const Taps whole = whole_pixels(a);
  with_fused_unary(a.epilogue.activation, [&](const auto& function) {
    for (std::size_t channel = 0; channel < a.channels; channel += Vec::kLanes) {
      const std::size_t left = a.channels - channel;
      const std::size_t lanes = left < Vec::kLanes ? left : Vec::kLanes;
      const Vec bias = a.bias == nullptr ? zero() : load_first(a.bias + channel, lanes);
      const RowSum<std::decay_t<decltype(function)>> row{a, function, channel, lanes, bias};
      for (std::size_t x = 0; x < whole.begin; ++x) row.pixel(x, taps_of(a, x));
      for (std::size_t x = whole.begin; x < whole.end; ++x) row.pixel(x, {0, a.kernel_w});
      for (std::size_t x = whole.end; x < a.width_out; ++x) row.pixel(x, taps_of(a, x));
    }
  });
}

}  // namespace
}  // namespace colonnade::kernels::shift_add
