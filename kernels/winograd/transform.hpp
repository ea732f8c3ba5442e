// SPDX-License-Identifier: Apache-2.0
// The transforms of one tile, a vector of channels at a time.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/base/vector_math.hpp"
#include "kernels/gemm/microkernel.hpp"
#include "kernels/winograd/tiers.hpp"

namespace colonnade::kernels::winograd {
namespace {

inline constexpr float kSqrt2 = 1.41421356f;
inline constexpr float kHalfSqrt2 = 0.707106781f;

/// F(4x4, 3x3). Rows of the transforms come in pairs that share terms: `even` and `odd` are those at pairs[p].
struct FourByFour {
  static constexpr std::size_t kTile = 4;
  static constexpr std::size_t kInputTile = 6;
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
    out[1] = fma(broadcast(kHalfSqrt2), m, broadcast(kSqrt2) * n);
    out[2] = fma(broadcast(0.5f), p, broadcast(2.0f) * q);
    out[3] = fma(broadcast(0.5f * kHalfSqrt2), m, fma(broadcast(2.0f * kSqrt2), n, in[5]));
  }
};

/// F(2x2, 3x3).
struct TwoByTwo {
  static constexpr std::size_t kTile = 2;
  static constexpr std::size_t kInputTile = 4;
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
    out[0] = in[0] + (in[1] + in[2]);
    out[1] = in[3] + (in[1] - in[2]);
  }
};

template <class F>
using Pairs = std::make_index_sequence<F::kInputTile / 2>;

/// out = B^T in.
template <class F, std::size_t... Pair>
[[gnu::always_inline]] inline void transform_whole(const Vec in[F::kInputTile], Vec out[F::kInputTile],
                                                   std::index_sequence<Pair...>) {
  (F::template transform_input<Pair>(in, out[F::kPairs[Pair][0]], out[F::kPairs[Pair][1]]), ...);
}

/// Multiples of a distance that cost no register each: up to five times as many bytes, in three registers.
struct Strides {
  std::ptrdiff_t one;
  std::ptrdiff_t three;
  std::ptrdiff_t five;

  [[gnu::always_inline]] explicit Strides(std::ptrdiff_t floats)
      : one(floats * static_cast<std::ptrdiff_t>(sizeof(float))), three(3 * one), five(5 * one) {
    hide(one);
    hide(three);
    hide(five);
  }
  template <class T>
  [[gnu::always_inline]] T* after(T* p, std::size_t count) const {
    const std::ptrdiff_t bytes = count == 3 ? three : count == 5 ? five : one * static_cast<std::ptrdiff_t>(count);
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(bytes));
  }
};

/// One input tile: pixel (i, j) is at rows[i] + j * pixel_stride.
template <class F>
struct InputTile {
  const float* rows[F::kInputTile];
  std::ptrdiff_t pixel_stride;
  std::size_t channels;
};

[[gnu::always_inline]] inline Vec load_lanes(const float* p, std::size_t lanes) {
  return lanes >= Vec::kLanes ? load(p) : load_first(p, lanes);
}

/// Two rows of B^T tile B, for kLanes channels.
template <class F, std::size_t Pair>
[[gnu::always_inline]] inline void transform_pair(const float* const rows[], const Strides& pixels, std::size_t lanes,
                                                  float* to, std::size_t plane, const Strides& planes) {
  constexpr std::size_t kSide = F::kInputTile;
  Vec half[2][kSide];
#pragma GCC unroll 6
  for (std::size_t j = 0; j < kSide; ++j) {
    Vec column[kSide];
#pragma GCC unroll 6
    for (std::size_t i = 0; i < kSide; ++i) column[i] = load_lanes(pixels.after(rows[i], j), lanes);
    F::template transform_input<Pair>(column, half[0][j], half[1][j]);
  }
#pragma GCC unroll 2
  for (std::size_t k = 0; k < 2; ++k) {
    Vec done[kSide];
    transform_whole<F>(half[k], done, Pairs<F>());
    float* row = to + F::kPairs[Pair][k] * kSide * plane;
    hide(row);
#pragma GCC unroll 6
    for (std::size_t j = 0; j < kSide; ++j) store(planes.after(row, j), done[j]);
  }
}

template <class F, std::size_t... Pair>
[[gnu::always_inline]] inline void transform_vector(const float* const rows[], const Strides& pixels, std::size_t lanes,
                                                    float* to, std::size_t plane, const Strides& planes,
                                                    std::index_sequence<Pair...>) {
  (transform_pair<F, Pair>(rows, pixels, lanes, to, plane, planes), ...);
}

/// Writes B^T tile B, matrix by matrix `plane` floats apart; channels up to a multiple of kLanes.
template <class F>
inline void transform_input_tile(const InputTile<F>& tile, float* to, std::size_t plane) {
  const Strides pixels(tile.pixel_stride);
  const Strides planes(static_cast<std::ptrdiff_t>(plane));
  const float* rows[F::kInputTile];
#pragma GCC unroll 6
  for (std::size_t i = 0; i < F::kInputTile; ++i) rows[i] = tile.rows[i];
  std::size_t left = tile.channels;
  for (; left >= Vec::kLanes; left -= Vec::kLanes, to += Vec::kLanes) {
    transform_vector<F>(rows, pixels, Vec::kLanes, to, plane, planes, Pairs<F>());
#pragma GCC unroll 6
    for (std::size_t i = 0; i < F::kInputTile; ++i) {
      rows[i] += Vec::kLanes;
      hide(rows[i]);
    }
  }
  if (left > 0) transform_vector<F>(rows, pixels, left, to, plane, planes, Pairs<F>());
}

/// One output tile: the top left pixel of each row (null: not written) and what to add.
template <class F>
struct OutputTile {
  float* rows[F::kTile];
  const float* residual[F::kTile];
  std::ptrdiff_t out_stride;
  std::ptrdiff_t residual_stride;
  std::size_t columns;
  std::size_t channels;
  const float* bias;
  bool residual_after;
  const float* slope;
};

template <class F, class Function>
[[gnu::always_inline]] inline void write_pixel(const OutputTile<F>& tile, const Function& function, Vec x,
                                               std::size_t row, std::size_t column, std::size_t c, std::size_t lanes) {
  const bool whole = lanes >= Vec::kLanes;
  const auto channel = static_cast<std::ptrdiff_t>(c);
  const auto at = static_cast<std::ptrdiff_t>(column);
  Vec add = zero();
  if (tile.residual[row] != nullptr) {
    const float* p = tile.residual[row] + (at * tile.residual_stride + channel);
    add = whole ? load(p) : load_first(p, lanes);
    if (!tile.residual_after) x = x + add;
  }
  const float* slope = tile.slope == nullptr ? nullptr : tile.slope + c;
  x = whole ? call(function, x, slope) : call_first(function, x, slope, lanes);
  if (tile.residual[row] != nullptr && tile.residual_after) x = x + add;
  float* to = tile.rows[row] + (at * tile.out_stride + channel);
  if (whole)
    store(to, x);
  else
    store_first(to, x, lanes);
}

template <class F, class Function>
[[gnu::always_inline]] inline void write_vector(const OutputTile<F>& tile, const Function& function, const float* from,
                                                std::size_t plane, const Strides& planes, std::size_t c,
                                                std::size_t lanes) {
  Vec half[F::kInputTile][F::kTile];
#pragma GCC unroll 6
  for (std::size_t i = 0; i < F::kInputTile; ++i) {
    Vec row[F::kInputTile];
#pragma GCC unroll 6
    for (std::size_t j = 0; j < F::kInputTile; ++j) row[j] = load(planes.after(from, j));
    F::transform_output(row, half[i]);
    from += F::kInputTile * plane;
    hide(from);
  }
  Vec bias = zero();
  if (tile.bias != nullptr) bias = load_lanes(tile.bias + c, lanes);
#pragma GCC unroll 4
  for (std::size_t j = 0; j < F::kTile; ++j) {
    if (j >= tile.columns) break;
    Vec column[F::kInputTile];
#pragma GCC unroll 6
    for (std::size_t i = 0; i < F::kInputTile; ++i) column[i] = half[i][j];
    Vec done[F::kTile];
    F::transform_output(column, done);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < F::kTile; ++i) {
      if (tile.rows[i] != nullptr) write_pixel(tile, function, done[i] + bias, i, j, c, lanes);
    }
  }
}

/// Writes act(A^T sums A + bias + residual) of one tile.
template <class F, class Function>
inline void write_output_tile(const OutputTile<F>& tile, const Function& function, const float* from,
                              std::size_t plane) {
  const Strides planes(static_cast<std::ptrdiff_t>(plane));
  std::size_t c = 0;
  for (; c + Vec::kLanes <= tile.channels; c += Vec::kLanes) {
    write_vector(tile, function, from + c, plane, planes, c, Vec::kLanes);
  }
  if (c < tile.channels) write_vector(tile, function, from + c, plane, planes, c, tile.channels - c);
}

inline bool is_cheap(const UnaryOp& op) {
  return op.kind == Unary::identity || op.kind == Unary::relu || op.kind == Unary::clip;
}

/// Activates the tile that was just written: a function of many operations would drive its sums out of the registers.
template <class F>
[[gnu::noinline]] void activate(const OutputTile<F>& tile, const UnaryOp& op) {
  const std::size_t whole = tile.channels / Vec::kLanes * Vec::kLanes;
  const std::size_t rest = tile.channels - whole;
  with_unary(op, [&](const auto& function) {
    for (float* const row : tile.rows) {
      if (row == nullptr) continue;
      for (std::size_t j = 0; j < tile.columns; ++j) {
        float* const pixel = row + static_cast<std::ptrdiff_t>(j) * tile.out_stride;
        const float* slope = tile.slope;
        map_vectors(function, pixel, pixel, whole, slope);
        if (rest == 0) continue;
        if (slope != nullptr) slope += whole;
        store_first(pixel + whole, call_first(function, load_first(pixel + whole, rest), slope, rest), rest);
      }
    }
  });
}

}  // namespace
}  // namespace colonnade::kernels::winograd
