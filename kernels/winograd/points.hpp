// SPDX-License-Identifier: Apache-2.0
// What one column of a tile goes through, for tiles of eight, six and four inputs.
#pragma once

#include <cstddef>

#include "kernels/base/vector_math.hpp"
#include "kernels/winograd/winograd.hpp"

namespace colonnade::kernels::winograd {
namespace {

inline constexpr float kSqrt2 = 1.41421356f;
inline constexpr float kHalfSqrt2 = 0.707106781f;

/// Tiles of eight inputs. Rows of the transforms come in pairs that share terms: `first` and `second` are those at
/// kPairs[Pair].
template <std::size_t Taps>
struct EightPoints {
  static constexpr std::size_t kInputTile = 8;
  static constexpr std::size_t kTile = kInputTile + 1 - Taps;
  static constexpr Tile kShape{kTile, Taps};
  static constexpr std::size_t kPairs[][2] = {{0, 7}, {1, 2}, {3, 4}, {5, 6}};

  /// Rows kPairs[Pair] of B^T in.
  template <std::size_t Pair>
  [[gnu::always_inline]] static void transform_input(const Vec in[kInputTile], Vec& first, Vec& second) {
    if constexpr (Pair == 0) {
      first = fma(broadcast(5.25f), in[4] - in[2], in[0] - in[6]);
      second = fma(broadcast(5.25f), in[3] - in[5], in[7] - in[1]);
    } else {
      Vec even, odd;
      if constexpr (Pair == 1) {
        even = fnma(broadcast(4.25f), in[4], in[2] + in[6]);
        odd = fnma(broadcast(4.25f), in[3], in[1] + in[5]);
      } else if constexpr (Pair == 2) {
        even = fma(broadcast(0.25f), in[2], fnma(broadcast(1.25f), in[4], in[6]));
        odd = fma(broadcast(0.5f), in[1], fnma(broadcast(2.5f), in[3], in[5] + in[5]));
      } else {
        even = fma(broadcast(4.0f), in[2], fnma(broadcast(5.0f), in[4], in[6]));
        odd = fma(broadcast(0.5f), in[5], fnma(broadcast(2.5f), in[3], in[1] + in[1]));
      }
      first = even + odd;
      second = even - odd;
    }
  }

  /// out = A^T in.
  [[gnu::always_inline]] static void transform_output(const Vec in[kInputTile], Vec out[kTile]) {
    const Vec p = in[1] + in[2], q = in[3] + in[4], r = in[5] + in[6];
    const Vec l = in[1] - in[2], m = in[3] - in[4], n = in[5] - in[6];
    out[0] = (in[0] + p) + (q + r);
    out[1] = fma(broadcast(2.0f), m, fma(broadcast(0.5f), n, l));
    out[2] = fma(broadcast(4.0f), q, fma(broadcast(0.25f), r, p));
    out[3] = fma(broadcast(8.0f), m, fma(broadcast(0.125f), n, l));
    if constexpr (kTile >= 5) out[4] = fma(broadcast(16.0f), q, fma(broadcast(0.0625f), r, p));
    if constexpr (kTile == 6) {
      out[5] = fma(broadcast(32.0f), m, fma(broadcast(0.03125f), n, l));
    }
    out[kTile - 1] = out[kTile - 1] + in[7];
  }
};

/// Tiles of six inputs.
template <std::size_t Taps>
struct SixPoints {
  static constexpr std::size_t kInputTile = 6;
  static constexpr std::size_t kTile = kInputTile + 1 - Taps;
  static constexpr Tile kShape{kTile, Taps};
  static constexpr std::size_t kPairs[][2] = {{0, 5}, {1, 2}, {3, 4}};

  /// Rows kPairs[Pair] of B^T in.
  template <std::size_t Pair>
  [[gnu::always_inline]] static void transform_input(const Vec in[kInputTile], Vec& first, Vec& second) {
    if constexpr (Pair == 0) {
      first = fnma(broadcast(2.5f), in[2], in[0] + in[4]);
      second = fnma(broadcast(2.5f), in[3], in[1] + in[5]);
    } else if constexpr (Pair == 1) {
      const Vec a = fnma(broadcast(kHalfSqrt2), in[3], broadcast(kSqrt2) * in[1]);
      const Vec b = fnma(broadcast(2.0f), in[2], in[4]);
      first = b - a;
      second = b + a;
    } else {
      const Vec c = fnma(broadcast(kHalfSqrt2), in[1], broadcast(kSqrt2) * in[3]);
      const Vec d = fnma(broadcast(0.5f), in[2], in[4]);
      first = d + c;
      second = d - c;
    }
  }

  /// out = A^T in.
  [[gnu::always_inline]] static void transform_output(const Vec in[kInputTile], Vec out[kTile]) {
    const Vec p = in[1] + in[2];
    const Vec q = in[3] + in[4];
    const Vec m = in[1] - in[2];
    const Vec n = in[3] - in[4];
    out[0] = in[0] + (p + q);
    if constexpr (kTile == 2) {
      out[1] = fma(broadcast(kHalfSqrt2), m, fma(broadcast(kSqrt2), n, in[5]));
    } else if constexpr (kTile == 3) {
      out[1] = fma(broadcast(kHalfSqrt2), m, broadcast(kSqrt2) * n);
      out[2] = fma(broadcast(0.5f), p, fma(broadcast(2.0f), q, in[5]));
    } else {
      out[1] = fma(broadcast(kHalfSqrt2), m, broadcast(kSqrt2) * n);
      out[2] = fma(broadcast(0.5f), p, broadcast(2.0f) * q);
      if constexpr (kTile == 4) {
        out[3] = fma(broadcast(0.5f * kHalfSqrt2), m, fma(broadcast(2.0f * kSqrt2), n, in[5]));
      } else {
        out[3] = fma(broadcast(0.5f * kHalfSqrt2), m, broadcast(2.0f * kSqrt2) * n);
        out[4] = fma(broadcast(0.25f), p, fma(broadcast(4.0f), q, in[5]));
      }
    }
  }
};

/// Tiles of four inputs.
template <std::size_t Taps>
struct FourPoints {
  static constexpr std::size_t kInputTile = 4;
  static constexpr std::size_t kTile = kInputTile + 1 - Taps;
  static constexpr Tile kShape{kTile, Taps};
  static constexpr std::size_t kPairs[][2] = {{0, 3}, {1, 2}};

  template <std::size_t Pair>
  [[gnu::always_inline]] static void transform_input(const Vec in[kInputTile], Vec& first, Vec& second) {
    if constexpr (Pair == 0) {
      first = in[0] - in[2];
      second = in[3] - in[1];
    } else {
      first = in[1] + in[2];
      second = in[2] - in[1];
    }
  }

  [[gnu::always_inline]] static void transform_output(const Vec in[kInputTile], Vec out[kTile]) {
    const Vec p = in[1] + in[2];
    const Vec m = in[1] - in[2];
    out[0] = in[0] + p;
    if constexpr (kTile == 2) {
      out[1] = in[3] + m;
    } else {
      out[1] = m;
      out[2] = in[3] + p;
    }
  }
};

}  // namespace
}  // namespace colonnade::kernels::winograd
