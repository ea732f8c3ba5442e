// SPDX-License-Identifier: Apache-2.0
// The transforms of one tile, a vector of channels at a time.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/base/vector_math.hpp"
#include "kernels/gemm/microkernel.hpp"
#include "kernels/winograd/blocks.hpp"
#include "kernels/winograd/points.hpp"

namespace colonnade::kernels::winograd {
namespace {

template <class F>
using Pairs = std::make_index_sequence<F::kInputTile / 2>;

/// out = B^T in.
template <class F, std::size_t... Pair>
[[gnu::always_inline]] inline void transform_whole(const Vec in[F::kInputTile], Vec out[F::kInputTile],
                                                   std::index_sequence<Pair...>) {
  (F::template transform_input<Pair>(in, out[F::kPairs[Pair][0]], out[F::kPairs[Pair][1]]), ...);
}

/// Multiples of a distance that cost no register each: up to seven times as many bytes, in four registers.
struct Strides {
  std::ptrdiff_t one;
  std::ptrdiff_t three;
  std::ptrdiff_t five;
  std::ptrdiff_t seven;

  [[gnu::always_inline]] explicit Strides(std::ptrdiff_t floats)
      : one(floats * static_cast<std::ptrdiff_t>(sizeof(float))), three(3 * one), five(5 * one), seven(7 * one) {
    hide(one);
    hide(three);
    hide(five);
    hide(seven);
  }
  template <class T>
  [[gnu::always_inline]] T* after(T* p, std::size_t count) const {
    const std::ptrdiff_t bytes = count == 7   ? seven
                                 : count == 5 ? five
                                 : count == 6 ? 2 * three
                                 : count == 3 ? three
                                              : one * static_cast<std::ptrdiff_t>(count);
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
  const float* row_of[kSide];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kSide; ++i) {
    row_of[i] = rows[i];
    hide(row_of[i]);
  }
  Vec half[2][kSide];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < kSide; ++j) {
    Vec column[kSide];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kSide; ++i) column[i] = load_lanes(pixels.after(row_of[i], j), lanes);
    F::template transform_input<Pair>(column, half[0][j], half[1][j]);
  }
#pragma GCC unroll 2
  for (std::size_t k = 0; k < 2; ++k) {
    Vec done[kSide];
    transform_whole<F>(half[k], done, Pairs<F>());
    float* row = to + F::kPairs[Pair][k] * kSide * plane;
    hide(row);
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kSide; ++j) store(planes.after(row, j), done[j]);
  }
}

template <class F, std::size_t... Pair>
[[gnu::always_inline]] inline void transform_vector(const float* const rows[], const Strides& pixels, std::size_t lanes,
                                                    float* to, std::size_t plane, const Strides& planes,
                                                    std::index_sequence<Pair...>) {
  (transform_pair<F, Pair>(rows, pixels, lanes, to, plane, planes), ...);
}

/// Two rows of six or eight columns, and a column beside them, take more than sixteen registers.
template <class F>
inline constexpr bool kThroughMemory = kFewRegisters&& F::kInputTile > 4;

/// All rows of B^T tile B, for kLanes channels: B^T tile passes through memory.
template <class F>
[[gnu::always_inline]] inline void transform_through_memory(const float* const rows[], std::ptrdiff_t pixel_stride,
                                                            std::size_t lanes, float* to, std::size_t plane,
                                                            const Strides& planes) {
  constexpr std::size_t kSide = F::kInputTile;
  Vec half[kSide][kSide];
  std::ptrdiff_t pixel = 0;
#pragma GCC unroll 1
  for (std::size_t j = 0; j < kSide; ++j, pixel += pixel_stride) {
    Vec column[kSide], done[kSide];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kSide; ++i) column[i] = load_lanes(rows[i] + pixel, lanes);
    transform_whole<F>(column, done, Pairs<F>());
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kSide; ++i) half[i][j] = done[i];
  }
#pragma GCC unroll 1
  for (std::size_t i = 0; i < kSide; ++i, to += kSide * plane) {
    Vec done[kSide];
    transform_whole<F>(half[i], done, Pairs<F>());
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kSide; ++j) store(planes.after(to, j), done[j]);
  }
}

/// Writes B^T tile B, matrix by matrix `plane` floats apart; channels up to a multiple of kLanes.
template <class F>
[[gnu::noinline]] void transform_input_tile(const InputTile<F>& tile, float* to, std::size_t plane) {
  const Strides pixels(tile.pixel_stride);
  const Strides planes(static_cast<std::ptrdiff_t>(plane));
  const float* rows[F::kInputTile];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < F::kInputTile; ++i) rows[i] = tile.rows[i];
  const auto transform = [&](std::size_t lanes) __attribute__((always_inline)) {
    if constexpr (kThroughMemory<F>)
      transform_through_memory<F>(rows, tile.pixel_stride, lanes, to, plane, planes);
    else
      transform_vector<F>(rows, pixels, lanes, to, plane, planes, Pairs<F>());
  };
  std::size_t left = tile.channels;
  for (; left >= Vec::kLanes; left -= Vec::kLanes, to += Vec::kLanes) {
    transform(Vec::kLanes);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < F::kInputTile; ++i) {
      rows[i] += Vec::kLanes;
      hide(rows[i]);
    }
  }
  if (left > 0) transform(left);
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

/// Calls put(row, column, (A^T sums A)[row][column] + bias) for kLanes channels.
template <class F, class Put>
[[gnu::always_inline]] inline void transform_sums(const float* from, std::size_t plane, const Strides& planes, Vec bias,
                                                  const Put& put) {
  Vec half[F::kInputTile][F::kTile];
  const auto transform_row = [&](std::size_t i) __attribute__((always_inline)) {
    Vec row[F::kInputTile];
#pragma GCC unroll 8
    for (std::size_t j = 0; j < F::kInputTile; ++j) row[j] = load(planes.after(from, j));
    F::transform_output(row, half[i]);
    from += F::kInputTile * plane;
    hide(from);
  };
  const auto transform_column = [&](std::size_t j) __attribute__((always_inline)) {
    Vec column[F::kInputTile];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < F::kInputTile; ++i) column[i] = half[i][j];
    Vec done[F::kTile];
    F::transform_output(column, done);
#pragma GCC unroll 6
    for (std::size_t i = 0; i < F::kTile; ++i) put(i, j, done[i] + bias);
  };
  if constexpr (kThroughMemory<F>) {
#pragma GCC unroll 1
    for (std::size_t i = 0; i < F::kInputTile; ++i) transform_row(i);
#pragma GCC unroll 1
    for (std::size_t j = 0; j < F::kTile; ++j) transform_column(j);
  } else {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < F::kInputTile; ++i) transform_row(i);
#pragma GCC unroll 6
    for (std::size_t j = 0; j < F::kTile; ++j) transform_column(j);
  }
}

/// Where all pixels are written and nothing is added, which needs no question a pixel.
template <class F, class Function>
[[gnu::always_inline]] inline void write_plain(const OutputTile<F>& tile, const Function& function, const float* from,
                                               std::size_t plane, const Strides& planes) {
  const Strides pixels(tile.out_stride);
  float* rows[F::kTile];
#pragma GCC unroll 6
  for (std::size_t i = 0; i < F::kTile; ++i) rows[i] = tile.rows[i];
  for (std::size_t c = 0; c < tile.channels; c += Vec::kLanes) {
    const Vec bias = tile.bias == nullptr ? zero() : load(tile.bias + c);
    const float* slope = tile.slope == nullptr ? nullptr : tile.slope + c;
    transform_sums<F>(
        from + c, plane, planes, bias, [&](std::size_t i, std::size_t j, Vec x) __attribute__((always_inline)) {
          if constexpr (kThroughMemory<F>)
            store(rows[i] + static_cast<std::ptrdiff_t>(j) * tile.out_stride + c, call(function, x, slope));
          else
            store(pixels.after(rows[i], j) + c, call(function, x, slope));
        });
  }
}

/// Writes those pixels of kLanes channels that are to be written from their sums, with what is added.
template <class F, class Function>
[[gnu::noinline]] void write_some(const OutputTile<F>& tile, const Function& function, const Vec* sums, std::size_t c,
                                  std::size_t lanes) {
  const bool whole = lanes >= Vec::kLanes;
  const auto channel = static_cast<std::ptrdiff_t>(c);
  const float* slope = tile.slope == nullptr ? nullptr : tile.slope + c;
  for (std::size_t i = 0; i < F::kTile; ++i) {
    if (tile.rows[i] == nullptr) continue;
    float* to = tile.rows[i] + channel;
    const float* residual = tile.residual[i] == nullptr ? nullptr : tile.residual[i] + channel;
    for (std::size_t j = 0; j < tile.columns; ++j, to += tile.out_stride) {
      Vec x = sums[i * F::kTile + j];
      Vec add = zero();
      if (residual != nullptr) {
        add = whole ? load(residual) : load_first(residual, lanes);
        residual += tile.residual_stride;
        if (!tile.residual_after) x = x + add;
      }
      x = whole ? call(function, x, slope) : call_first(function, x, slope, lanes);
      if (residual != nullptr && tile.residual_after) x = x + add;
      if (whole)
        store(to, x);
      else
        store_first(to, x, lanes);
    }
  }
}

/// Writes act(A^T sums A + bias + residual) of one tile.
template <class F, class Function>
inline void write_output_tile(const OutputTile<F>& tile, const Function& function, const float* from,
                              std::size_t plane) {
  const Strides planes(static_cast<std::ptrdiff_t>(plane));
  bool plain = tile.columns == F::kTile && tile.residual[0] == nullptr && tile.channels % Vec::kLanes == 0;
  for (const float* const row : tile.rows) plain = plain && row != nullptr;
  if (plain) return write_plain(tile, function, from, plane, planes);
  for (std::size_t c = 0; c < tile.channels; c += Vec::kLanes) {
    const std::size_t lanes = tile.channels - c;
    const Vec bias = tile.bias == nullptr ? zero() : load_lanes(tile.bias + c, lanes);
    Vec sums[F::kTile * F::kTile];
    transform_sums<F>(from + c, plane, planes, bias,
                      [&](std::size_t i, std::size_t j, Vec x) { sums[i * F::kTile + j] = x; });
    write_some(tile, function, sums, c, lanes);
  }
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
