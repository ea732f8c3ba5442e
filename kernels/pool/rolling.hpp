// SPDX-License-Identifier: Apache-2.0
// Windows of a row that overlap: the rows of a column are folded once, and kept for the windows that have it.
#pragma once

#include <type_traits>

#include "kernels/base/simd.hpp"
#include "kernels/pool/pool.hpp"
#include "kernels/pool/windows.hpp"

namespace colonnade::kernels::pool {
namespace {

/// Most rows of a window that rolls.
inline constexpr std::size_t kMostRows = 9;

/// Output pixels of a row whose columns all exist, and the input rows that they see, from their first column on.
struct Rolling {
  const float* rows[kMostRows];
  std::size_t count = 0;  ///< of rows that exist
  std::ptrdiff_t pixel;
  float* out;
  std::ptrdiff_t out_pixel;
  std::size_t pixels;
  const float* scales;  ///< [pixels]
};

/// Channels of a pixel that pass together: their columns stay in the first-level cache.
inline constexpr std::size_t kMostChannels = 512;

/// A vector of channels of a column of the window, n of them when Tail.
/// Of kRows rows, of any number where that is 0.
template <class Op, std::size_t kRows, bool Tail>
[[gnu::always_inline]] inline Vec fold_column(const Rolling& w, std::ptrdiff_t at, std::size_t n) {
  Vec sum = Op::start();
  const std::size_t count = kRows == 0 ? w.count : kRows;
#pragma GCC unroll 5
  for (std::size_t row = 0; row < count; ++row) sum = Op::add(sum, get<Tail>(w.rows[row] + at, n));
  return sum;
}

/// Calls vector(c, n, tail) for vectors of channels [0, count), with a constant as tail.
template <class Vector>
[[gnu::always_inline]] inline void each_channels(std::size_t count, const Vector& vector) {
  std::size_t c = 0;
  for (; c + Vec::kLanes <= count; c += Vec::kLanes) vector(c, Vec::kLanes, std::false_type{});
  if (c < count) vector(c, count - c, std::true_type{});
}

/// `count` channels from `channel` on. columns[i]: of a column, the oldest one first.
template <class Op, std::size_t kTaps, std::size_t kRows>
inline void roll_channels(const Rolling& w, std::size_t channel, std::size_t count) {
  alignas(64) float room[kTaps][kMostChannels];
  float* columns[kTaps];
  std::ptrdiff_t at = static_cast<std::ptrdiff_t>(channel);
  for (std::size_t k = 0; k < kTaps; ++k) columns[k] = room[k];
  for (std::size_t k = 0; k + 1 < kTaps; ++k, at += w.pixel)
    each_channels(
        count, [&](std::size_t c, std::size_t n, auto tail) __attribute__((always_inline)) {
          store(columns[k] + c, fold_column<Op, kRows, tail.value>(w, at + static_cast<std::ptrdiff_t>(c), n));
        });
  float* out = w.out + channel;
  for (std::size_t x = 0; x < w.pixels; ++x, at += w.pixel, out += w.out_pixel) {
    const Vec scale = broadcast(w.scales[x]);
    each_channels(
        count, [&](std::size_t c, std::size_t n, auto tail) __attribute__((always_inline)) {
          const Vec newest = fold_column<Op, kRows, tail.value>(w, at + static_cast<std::ptrdiff_t>(c), n);
          Vec sum = load(columns[0] + c);
#pragma GCC unroll 4
          for (std::size_t k = 1; k + 1 < kTaps; ++k) sum = Op::add(sum, load(columns[k] + c));
          sum = Op::add(sum, newest) * scale;
          store(columns[kTaps - 1] + c, newest);
          if constexpr (tail.value)
            store_first(out + c, sum, n);
          else
            store(out + c, sum);
        });
    float* const oldest = columns[0];
    for (std::size_t k = 0; k + 1 < kTaps; ++k) columns[k] = columns[k + 1];
    columns[kTaps - 1] = oldest;
  }
}

template <class Op, std::size_t kTaps>
void roll(const Rolling& w, std::size_t channels) {
  const auto some = w.count == kTaps ? roll_channels<Op, kTaps, kTaps> : roll_channels<Op, kTaps, 0>;
  for (std::size_t c = 0; c < channels; c += kMostChannels)
    some(w, c, channels - c < kMostChannels ? channels - c : kMostChannels);
}

using RollFn = void (*)(const Rolling&, std::size_t channels);
/// Null for windows of another width, and for those that lie further apart than a pixel: they share too little.
template <class Op>
inline RollFn roll_of(const Args& a) {
  if (a.dilation_w != 1 || a.stride_w != 1 || a.kernel_h > kMostRows) return nullptr;
  return a.kernel_w == 3 ? roll<Op, 3> : a.kernel_w == 5 ? roll<Op, 5> : nullptr;
}

/// Output pixels [pixels.begin, pixels.end) of a row, whose columns all exist.
inline void roll_pixels(const Args& a, RollFn roll, std::size_t row, const Pixels& pixels) {
  constexpr std::size_t kTogether = 64;
  float scales[kTogether];
  Rolling w;
  w.pixel = a.in_pixel_stride, w.out_pixel = a.out_pixel_stride;
  w.scales = scales;
  for (std::size_t x = pixels.begin; x < pixels.end; x += w.pixels) {
    w.pixels = pixels.end - x < kTogether ? pixels.end - x : kTogether;
    w.count = 0;
    for (std::size_t ky = 0; ky < a.kernel_h; ++ky)
      if (const float* const in = a.in_rows[row * a.kernel_h + ky])
        w.rows[w.count++] = in + static_cast<std::ptrdiff_t>(x - a.pad_left) * a.in_pixel_stride;
    w.out = a.out_rows[row] + static_cast<std::ptrdiff_t>(x) * a.out_pixel_stride;
    for (std::size_t i = 0; i < w.pixels; ++i)
      scales[i] = a.kind == Kind::average ? 1.0f / (a.row_counts[row] * a.column_counts[x + i]) : 1.0f;
    roll(w, a.channels);
  }
}

}  // namespace
}  // namespace colonnade::kernels::pool
