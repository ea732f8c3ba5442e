// SPDX-License-Identifier: Apache-2.0
// The pooling loops of every tier: per output pixel, a few vectors of channels at a time through all taps.
#pragma once

#include "kernels/base/simd.hpp"
#include "kernels/pool/pool.hpp"
#include "kernels/pool/rolling.hpp"
#include "kernels/pool/windows.hpp"

namespace colonnade::kernels::pool {
namespace {

/// V vectors of channels from `channel` on, or n channels of one when Tail.
template <class Op, int V, bool Tail>
inline __attribute__((always_inline)) void pool_channels(const Args& a, const Window& w, std::size_t channel,
                                                         float* out, Vec scale, std::size_t n) {
  const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(a.dilation_w) * a.in_pixel_stride;
  const std::ptrdiff_t begin = (w.first + static_cast<std::ptrdiff_t>(w.begin * a.dilation_w)) * a.in_pixel_stride +
                               static_cast<std::ptrdiff_t>(channel);
  Vec sums[V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) sums[v] = Op::start();
  for (std::size_t ky = 0; ky < a.kernel_h; ++ky) {
    if (w.rows[ky] == nullptr) continue;
    const float* in = w.rows[ky] + begin;
    for (std::size_t kx = w.begin; kx < w.end; ++kx, in += step) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sums[v] = Op::add(sums[v], get<Tail>(in + v * static_cast<int>(Vec::kLanes), n));
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    const Vec y = sums[v] * scale;
    if constexpr (Tail)
      store_first(out + channel, y, n);
    else
      store(out + channel + v * static_cast<int>(Vec::kLanes), y);
  }
}

template <class Op>
inline void pool_pixel(const Args& a, const Window& w, float* out, Vec scale) {
  constexpr std::size_t kLanes = Vec::kLanes;
  std::size_t c = 0;
  for (; c + 4 * kLanes <= a.channels; c += 4 * kLanes) pool_channels<Op, 4, false>(a, w, c, out, scale, kLanes);
  for (; c + kLanes <= a.channels; c += kLanes) pool_channels<Op, 1, false>(a, w, c, out, scale, kLanes);
  if (c < a.channels) pool_channels<Op, 1, true>(a, w, c, out, scale, a.channels - c);
}

/// One output pixel whose taps all exist, kTaps x kTaps of them, from rows[ky] + kx * step.
template <class Op, std::size_t kTaps, bool Tail>
inline __attribute__((always_inline)) void pool_whole(const float* const rows[kTaps], std::ptrdiff_t step, float* out,
                                                      Vec scale, std::size_t n) {
  Vec sum = Op::start();
#pragma GCC unroll 3
  for (std::size_t ky = 0; ky < kTaps; ++ky) {
#pragma GCC unroll 3
    for (std::size_t kx = 0; kx < kTaps; ++kx)
      sum = Op::add(sum, get<Tail>(rows[ky] + static_cast<std::ptrdiff_t>(kx) * step, n));
  }
  if constexpr (Tail)
    store_first(out, sum * scale, n);
  else
    store(out, sum * scale);
}

inline Vec scale_of(const Args& a, std::size_t row, std::size_t x) {
  return broadcast(a.kind == Kind::max ? 1.0f : 1.0f / (a.row_counts[row] * a.column_counts[x]));
}

template <class Op, std::size_t kTaps>
inline void pool_wholes(const Args& a, std::size_t row, const Pixels& pixels) {
  const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(a.dilation_w) * a.in_pixel_stride;
  float* out = a.out_rows[row] + static_cast<std::ptrdiff_t>(pixels.begin) * a.out_pixel_stride;
  const float* rows[kTaps];
  for (std::size_t ky = 0; ky < kTaps; ++ky)
    rows[ky] = a.in_rows[row * kTaps + ky] +
               static_cast<std::ptrdiff_t>(pixels.begin * a.stride_w - a.pad_left) * a.in_pixel_stride;
  for (std::size_t x = pixels.begin; x < pixels.end; ++x, out += a.out_pixel_stride) {
    const Vec scale = scale_of(a, row, x);
    const float* at[kTaps];
    for (std::size_t ky = 0; ky < kTaps; ++ky) at[ky] = rows[ky];
    std::size_t c = 0;
    for (; c + Vec::kLanes <= a.channels; c += Vec::kLanes) {
      pool_whole<Op, kTaps, false>(at, step, out + c, scale, Vec::kLanes);
      for (std::size_t ky = 0; ky < kTaps; ++ky) at[ky] += Vec::kLanes;
    }
    if (c < a.channels) pool_whole<Op, kTaps, true>(at, step, out + c, scale, a.channels - c);
    for (std::size_t ky = 0; ky < kTaps; ++ky) rows[ky] += static_cast<std::ptrdiff_t>(a.stride_w) * a.in_pixel_stride;
  }
}

template <class Op>
inline void pool_row(const Args& a, std::size_t row) {
  Pixels whole{0, 0};
  const bool square = a.kernel_h == a.kernel_w && (a.kernel_w == 2 || a.kernel_w == 3);
  if (const RollFn roll = roll_of<Op>(a)) {
    whole = whole_pixels(a);
    roll_pixels(a, roll, row, whole);
  } else if (square) {
    whole = whole_pixels(a);
    for (std::size_t ky = 0; ky < a.kernel_h; ++ky)
      if (a.in_rows[row * a.kernel_h + ky] == nullptr) whole = {0, 0};
    if (whole.begin < whole.end)
      a.kernel_w == 2 ? pool_wholes<Op, 2>(a, row, whole) : pool_wholes<Op, 3>(a, row, whole);
  }
  for (std::size_t x = 0; x < a.width_out; ++x) {
    if (x == whole.begin) x = whole.end;
    if (x == a.width_out) return;
    float* const out = a.out_rows[row] + static_cast<std::ptrdiff_t>(x) * a.out_pixel_stride;
    pool_pixel<Op>(a, window_of(a, row, x), out, scale_of(a, row, x));
  }
}

inline void run_generic(const Args& a) noexcept {
  for (std::size_t row = 0; row < a.rows; ++row) a.kind == Kind::max ? pool_row<Max>(a, row) : pool_row<Sum>(a, row);
}

}  // namespace
}  // namespace colonnade::kernels::pool
