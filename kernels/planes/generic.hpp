// SPDX-License-Identifier: Apache-2.0
// The loops of every tier: tiles of some vectors of pixels by all output channels, held in registers.
#pragma once

#include <utility>

#include "kernels/base/simd.hpp"
#include "kernels/base/vector_math.hpp"
#include "kernels/planes/planes.hpp"

namespace colonnade::kernels::planes {
namespace {

#if defined(__AVX512F__)
inline constexpr std::size_t kRegisters = 32;
#else
inline constexpr std::size_t kRegisters = 16;
#endif
static_assert(kPixels % Vec::kLanes == 0);

/// Up to so many output channels a tile holds a weight for each in a register, of more it holds the input.
inline constexpr std::size_t kHeldWeights = 8;

/// Vectors of pixels a tile: registers hold their sums, weights or a vector of the input for each, one of the other and
/// one to spare.
constexpr std::size_t vectors_of(std::size_t channels) {
  constexpr std::size_t kMost = 6;
  const std::size_t fit =
      channels <= kHeldWeights ? (kRegisters - 2 - channels) / channels : (kRegisters - 2) / (channels + 1);
  return fit < 1 ? 1 : fit < kMost ? fit : kMost;
}

/// Adds V vectors of pixels times a weight for each of N output channels. A vector that crosses lines is read once.
template <std::size_t N, std::size_t V>
[[gnu::always_inline]] inline void multiply_tap(const float* in, const float* weights, Vec (&sums)[N][V]) {
  if constexpr (N <= kHeldWeights) {
    Vec weight[N];
#pragma GCC unroll 16
    for (std::size_t n = 0; n < N; ++n) weight[n] = broadcast(weights[n]);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) {
      const Vec pixels = load_once(in + v * Vec::kLanes);
#pragma GCC unroll 16
      for (std::size_t n = 0; n < N; ++n) sums[n][v] = fma(pixels, weight[n], sums[n][v]);
    }
  } else {
    Vec pixels[V];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) pixels[v] = load_once(in + v * Vec::kLanes);
#pragma GCC unroll 16
    for (std::size_t n = 0; n < N; ++n) {
      const Vec weight = broadcast(weights[n]);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < V; ++v) sums[n][v] = fma(pixels[v], weight, sums[n][v]);
    }
  }
}

/// N output channels of V vectors of pixels from x on.
template <std::size_t N, std::size_t V, class Function>
void run_tile(const Args& a, const Function& function, std::size_t x) {
  Vec sums[N][V];
#pragma GCC unroll 16
  for (std::size_t n = 0; n < N; ++n)
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) sums[n][v] = a.bias == nullptr ? zero() : broadcast(a.bias[n]);
  const float* weights = a.weights;
  for (std::size_t ky = 0; ky < a.kernel_h; ++ky) {
    if (a.rows[ky] == nullptr) {
      weights += a.channels_in * a.kernel_w * N;
      continue;
    }
    const float* plane = a.rows[ky] + x;
    for (std::size_t c = 0; c < a.channels_in; ++c, plane += a.plane_stride) {
      const float* in = plane;
      for (std::size_t kx = 0; kx < a.kernel_w; ++kx, in += a.dilation_w, weights += N) {
        multiply_tap<N, V>(in, weights, sums);
      }
    }
  }
  const bool after = a.epilogue.residual_after;
  const float* slope = a.epilogue.activation.slope;
#pragma GCC unroll 16
  for (std::size_t n = 0; n < N; ++n) {
    float slopes[Vec::kLanes];
    if (slope != nullptr) store(slopes, broadcast(slope[n]));
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(n) * a.out_plane_stride + static_cast<std::ptrdiff_t>(x);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) {
      const auto first = at + static_cast<std::ptrdiff_t>(v * Vec::kLanes);
      Vec sum = sums[n][v];
      const Vec residual = a.residual == nullptr ? zero() : load(a.residual + first);
      if (!after) sum = sum + residual;
      sum = call(function, sum, slope == nullptr ? nullptr : slopes);
      if (after) sum = sum + residual;
      store(a.out + first, sum);
    }
  }
}

/// The pixels from x on, V vectors at a time, the rest in ever fewer.
template <std::size_t N, std::size_t V, class Function>
void run_pixels(const Args& a, const Function& function, std::size_t x, std::size_t end) {
  for (; x + V * Vec::kLanes <= end; x += V * Vec::kLanes) run_tile<N, V>(a, function, x);
  if constexpr (V > 1) run_pixels<N, (V + 1) / 2>(a, function, x, end);
}

inline void run_generic(const Args& a) noexcept {
  const std::size_t end = (a.pixels + kPixels - 1) / kPixels * kPixels;
  with_fused_unary(a.epilogue.activation, [&](const auto& function) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((a.channels_out == I + 1 ? run_pixels<I + 1, vectors_of(I + 1)>(a, function, 0, end) : void()), ...);
    }
    (std::make_index_sequence<kMostChannels>());
  });
}

}  // namespace
}  // namespace colonnade::kernels::planes
