// SPDX-License-Identifier: Apache-2.0
// The loops of every tier: per output pixel, a block of channels at a time through all taps. Blocks have a constant
// length, so that the compiler keeps them in registers.
#pragma once

#include <cstring>

#include "kernels/byte_pool/byte_pool.hpp"

namespace colonnade::kernels::byte_pool {
namespace {

/// The taps of one output pixel that exist: columns [begin, end) of the kernel's, from `first` on.
struct Window {
  const std::uint8_t* const* rows;
  std::ptrdiff_t first;
  std::size_t begin;
  std::size_t end;
};

inline Window window_of(const Args& a, std::size_t row, std::size_t x) {
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(x * a.stride_w) - static_cast<std::ptrdiff_t>(a.pad_left);
  const auto step = static_cast<std::ptrdiff_t>(a.dilation_w), width = static_cast<std::ptrdiff_t>(a.width_in);
  std::ptrdiff_t begin = 0, end = static_cast<std::ptrdiff_t>(a.kernel_w);
  if (first + (end - 1) * step >= width) end = first < width ? (width - first + step - 1) / step : 0;
  if (first < 0) begin = (-first + step - 1) / step;
  if (begin > end) begin = end;
  return {a.in_rows + row * a.kernel_h, first, static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

/// visit(p): each tap's channels from `channel` on.
template <class Visit>
inline __attribute__((always_inline)) void each_tap(const Args& a, const Window& w, std::size_t channel, Visit visit) {
  const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(a.dilation_w) * a.in_pixel_stride;
  const std::ptrdiff_t begin = (w.first + static_cast<std::ptrdiff_t>(w.begin * a.dilation_w)) * a.in_pixel_stride +
                               static_cast<std::ptrdiff_t>(channel);
  for (std::size_t ky = 0; ky < a.kernel_h; ++ky) {
    if (w.rows[ky] == nullptr) continue;
    const std::uint8_t* in = w.rows[ky] + begin;
    for (std::size_t kx = w.begin; kx < w.end; ++kx, in += step) visit(in);
  }
}

/// Signed bytes are in order once their first bit is flipped.
template <std::size_t N, bool Signed>
inline void largest(const Args& a, const Window& w, std::size_t channel, std::byte* out, float) {
  constexpr std::uint8_t kFlip = Signed ? 0x80 : 0;
  std::uint8_t most[N] = {};
  each_tap(a, w, channel, [&](const std::uint8_t* in) {
#pragma GCC unroll 1
    for (std::size_t i = 0; i < N; ++i) {
      const auto x = static_cast<std::uint8_t>(in[i] ^ kFlip);
      most[i] = x > most[i] ? x : most[i];
    }
  });
  for (std::size_t i = 0; i < N; ++i) out[channel + i] = static_cast<std::byte>(most[i] ^ kFlip);
}

/// The unit in the last place of sums with this is one, and its bits are even.
inline constexpr float kShift = 12582912.0f;

template <std::size_t N>
inline void write(const Args& a, std::size_t channel, const std::int32_t (&sums)[N], float factor, std::byte* out) {
  float v[N];
  for (std::size_t i = 0; i < N; ++i) v[i] = static_cast<float>(sums[i]) * factor;
  if (a.type == Type::f32) {
    std::memcpy(out + channel * sizeof(float), v, sizeof v);
    return;
  }
  const float low = a.low, high = a.high;
  const std::int32_t moved = a.zero - __builtin_bit_cast(std::int32_t, kShift);
  for (std::size_t i = 0; i < N; ++i) {
    const float raised = v[i] > low ? v[i] : low, within = raised < high ? raised : high;
    out[channel + i] = static_cast<std::byte>(__builtin_bit_cast(std::int32_t, within + kShift) + moved);
  }
}

template <std::size_t N>
inline void average(const Args& a, const Window& w, std::size_t channel, std::byte* out, float factor) {
  constexpr std::size_t kMostInWord = 257;  // bytes whose sum fits
  std::int32_t sums[N] = {};
  std::uint16_t part[N] = {};
  std::size_t inside = 0, taps = 0;
  const auto flush = [&] {
    for (std::size_t i = 0; i < N; ++i) sums[i] += part[i], part[i] = 0;
    taps += inside;
    inside = 0;
  };
  each_tap(a, w, channel, [&](const std::uint8_t* in) {
#pragma GCC unroll 1
    for (std::size_t i = 0; i < N; ++i) part[i] = static_cast<std::uint16_t>(part[i] + in[i]);
    if (++inside == kMostInWord) flush();
  });
  flush();
  const auto zeros = static_cast<std::int32_t>(static_cast<std::uint32_t>(taps) * static_cast<std::uint32_t>(a.x_zero));
  for (std::size_t i = 0; i < N; ++i) sums[i] -= zeros;
  write(a, channel, sums, factor, out);
}

template <std::size_t N>
inline void block(const Args& a, const Window& w, std::size_t channel, std::byte* out, float factor) {
  switch (a.kind) {
    case Kind::max: return largest<N, false>(a, w, channel, out, factor);
    case Kind::max_signed: return largest<N, true>(a, w, channel, out, factor);
    case Kind::average: return average<N>(a, w, channel, out, factor);
  }
}

inline void run_generic(const Args& a) noexcept {
  for (std::size_t row = 0; row < a.rows; ++row) {
    for (std::size_t x = 0; x < a.width_out; ++x) {
      const Window w = window_of(a, row, x);
      std::byte* out = a.out_rows[row] + static_cast<std::ptrdiff_t>(x) * a.out_pixel_stride;
      const float factor = a.kind == Kind::average ? a.factor / (a.row_counts[row] * a.column_counts[x]) : 1.0f;
      std::size_t c = 0;
      for (; c + 64 <= a.channels; c += 64) block<64>(a, w, c, out, factor);
      if (c + 32 <= a.channels) block<32>(a, w, c, out, factor), c += 32;
      for (; c + 16 <= a.channels; c += 16) block<16>(a, w, c, out, factor);
      if (c == a.channels) continue;
      if (c > 0) {
        block<16>(a, w, a.channels - 16, out, factor);  // some of them once more
        continue;
      }
      for (; c < a.channels; ++c) block<1>(a, w, c, out, factor);
    }
  }
}

}  // namespace
}  // namespace colonnade::kernels::byte_pool
