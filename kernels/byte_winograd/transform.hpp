// SPDX-License-Identifier: Apache-2.0
// The transforms of a tile in integers, a vector of channels at a time. Vectors are GCC's own: sums and shifts are
// instructions on every architecture. Everything lives in an anonymous namespace: each tier's files have their own
// copy.
#pragma once

#include <cstring>

#include "kernels/base/simd.hpp"
#include "kernels/byte_winograd/layout.hpp"

namespace colonnade::kernels::byte_winograd {
namespace {

#if defined(__AVX512F__)
inline constexpr std::size_t kLanes = 16;  // of 32 bits
#elif defined(__AVX2__)
inline constexpr std::size_t kLanes = 8;
#else
inline constexpr std::size_t kLanes = 4;
#endif
/// Channels of a vector of 16 bits.
inline constexpr std::size_t kShorts = 2 * kLanes;

using PixelBytes = std::uint8_t __attribute__((vector_size(kShorts)));
using Shorts = std::uint16_t __attribute__((vector_size(2 * kShorts)));
using Words = std::uint32_t __attribute__((vector_size(4 * kLanes)));
using SignedWords = std::int32_t __attribute__((vector_size(4 * kLanes)));

/// The same anywhere in memory: a copy of its bytes would be two halves.
template <class V>
using Anywhere [[gnu::aligned(1), gnu::may_alias]] = V;

template <class V>
[[gnu::always_inline]] inline void read(V& x, const void* p) {
  x = *static_cast<const Anywhere<V>*>(p);
}
template <class V>
[[gnu::always_inline]] inline void write(void* p, const V& x) {
  *static_cast<Anywhere<V>*>(p) = x;
}

/// to = B^T from.
[[gnu::always_inline]] inline void evaluate(const Shorts (&from)[kInputTile], Shorts (&to)[kInputTile]) {
  const Shorts even = from[4] - from[2], odd = from[3] - from[1];
  const Shorts one = from[4] - (from[2] << 2), other = from[3] - (from[1] << 2), twice = odd + odd;
  to[0] = even + ((from[0] - from[2]) << 2);
  to[1] = one + other;
  to[2] = one - other;
  to[3] = even + twice;
  to[4] = even - twice;
  to[5] = from[5] - from[3] - (odd << 2);
}

/// Writes B^T tile B of kShorts channels, matrix by matrix `plane` bytes apart. Pixel (i, j) is at rows[i] + j * pixel.
[[gnu::always_inline]] inline void evaluate_tile(const std::byte* const (&rows)[kInputTile], std::ptrdiff_t pixel,
                                                 std::byte* to, std::size_t plane) {
  Shorts half[kInputTile][kInputTile];
  std::ptrdiff_t at = 0;
#pragma GCC unroll 1
  for (std::size_t j = 0; j < kInputTile; ++j, at += pixel) {
    Shorts column[kInputTile], done[kInputTile];
#pragma GCC unroll 6
    for (std::size_t i = 0; i < kInputTile; ++i) {
      PixelBytes bytes;
      read(bytes, rows[i] + at);
      column[i] = __builtin_convertvector(bytes, Shorts) - static_cast<std::uint16_t>(kCentre);
    }
    evaluate(column, done);
#pragma GCC unroll 6
    for (std::size_t i = 0; i < kInputTile; ++i) half[i][j] = done[i];
  }
#pragma GCC unroll 1
  for (std::size_t i = 0; i < kInputTile; ++i, to += kInputTile * plane) {
    Shorts done[kInputTile];
    evaluate(half[i], done);
#pragma GCC unroll 6
    for (std::size_t j = 0; j < kInputTile; ++j) write(to + j * plane, done[j]);
  }
}

/// to = A^T from, each times kScales.
[[gnu::always_inline]] inline void interpolate(const Words (&from)[kInputTile], Words (&to)[kTile]) {
  const Words sum1 = from[1] + from[2], difference1 = from[1] - from[2];
  const Words sum2 = from[3] + from[4], difference2 = from[3] - from[4];
  to[0] = from[0] + (sum1 << 2) + sum2;
  to[1] = difference1 + difference1 + difference2;
  to[2] = sum1 + sum2;
  to[3] = difference1 + difference2 + difference2 + from[5];
}

/// An output is 3 * 2^kShifts times what it should be, in each direction.
inline constexpr int kShifts[kTile] = {3, 2, 1, 1};
/// Of nine, modulo 2^32.
inline constexpr std::uint32_t kInverse = 0x38E38E39;
static_assert(kInverse * 9u == 1);

/// Calls put(i, j, sums) for kLanes channels of each output of a tile whose products are at `from`.
template <class Put>
[[gnu::always_inline]] inline void interpolate_tile(const std::byte* from, std::size_t plane, const Put& put) {
  Words half[kInputTile][kTile];
#pragma GCC unroll 1
  for (std::size_t i = 0; i < kInputTile; ++i, from += kInputTile * plane) {
    Words row[kInputTile];
#pragma GCC unroll 6
    for (std::size_t j = 0; j < kInputTile; ++j) read(row[j], from + j * plane);
    interpolate(row, half[i]);
  }
#pragma GCC unroll 4
  for (std::size_t j = 0; j < kTile; ++j) {
    Words column[kInputTile], done[kTile];
#pragma GCC unroll 6
    for (std::size_t i = 0; i < kInputTile; ++i) column[i] = half[i][j];
    interpolate(column, done);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kTile; ++i)
      put(i, j, reinterpret_cast<SignedWords>(done[i] * kInverse) >> (kShifts[i] + kShifts[j]));
  }
}

}  // namespace
}  // namespace colonnade::kernels::byte_winograd
