// SPDX-License-Identifier: Apache-2.0
// The transforms of one tile, a vector of channels at a time.
#pragma once

#include "kernels/base/vector_math.hpp"
#include "kernels/winograd/tiers.hpp"

namespace colonnade::kernels::winograd {
namespace {

inline constexpr float kSqrt2 = 1.41421356f;
inline constexpr float kHalfSqrt2 = 0.707106781f;

/// out = B^T in for six values `step` apart.
[[gnu::always_inline]] inline void transform_input(const Vec in[kInputTile], Vec out[kInputTile]) {
  const Vec root = broadcast(kSqrt2);
  const Vec half_root = broadcast(kHalfSqrt2);
  const Vec a = fnma(half_root, in[3], root * in[1]);
  const Vec b = fnma(broadcast(2.0f), in[2], in[4]);
  const Vec c = fnma(half_root, in[1], root * in[3]);
  const Vec d = fnma(broadcast(0.5f), in[2], in[4]);
  out[0] = fnma(broadcast(2.5f), in[2], in[0] + in[4]);
  out[1] = b - a;
  out[2] = b + a;
  out[3] = d + c;
  out[4] = d - c;
  out[5] = fnma(broadcast(2.5f), in[3], in[1] + in[5]);
}

/// out = A^T in.
[[gnu::always_inline]] inline void transform_output(const Vec in[kInputTile], Vec out[kTile]) {
  const Vec p = in[1] + in[2];
  const Vec q = in[3] + in[4];
  const Vec m = in[1] - in[2];
  const Vec n = in[3] - in[4];
  out[0] = in[0] + (p + q);
  out[1] = fma(broadcast(kHalfSqrt2), m, broadcast(kSqrt2) * n);
  out[2] = fma(broadcast(0.5f), p, broadcast(2.0f) * q);
  out[3] = fma(broadcast(0.5f * kHalfSqrt2), m, fma(broadcast(2.0f * kSqrt2), n, in[5]));
}

/// One input tile: pixel (i, j) is at rows[i] + j * pixel_stride where rows[i] is not null and j lies in
/// [first_column, last_column); others are zero.
struct InputTile {
  const float* rows[kInputTile];
  std::ptrdiff_t pixel_stride;
  std::size_t first_column;
  std::size_t last_column;
  std::size_t channels;

  bool whole() const {
    bool all = first_column == 0 && last_column == kInputTile;
    for (const float* row : rows) all = all && row != nullptr;
    return all;
  }
};

/// kLanes channels of pixel (i, j) from channel c on; `lanes` of them exist.
template <bool Whole>
[[gnu::always_inline]] inline Vec load_pixel(const InputTile& tile, std::size_t i, std::size_t j, std::size_t c,
                                             std::size_t lanes) {
  if constexpr (!Whole) {
    if (tile.rows[i] == nullptr || j < tile.first_column || j >= tile.last_column) return zero();
  }
  const float* p = tile.rows[i] + (static_cast<std::ptrdiff_t>(j) * tile.pixel_stride + static_cast<std::ptrdiff_t>(c));
  return lanes >= Vec::kLanes ? load(p) : load_first(p, lanes);
}

template <bool Whole>
[[gnu::always_inline]] inline void transform_vector(const InputTile& tile, std::size_t c, std::size_t lanes, float* to,
                                                    std::size_t plane) {
  Vec half[kInputTile][kInputTile];
#pragma GCC unroll 6
  for (std::size_t j = 0; j < kInputTile; ++j) {
    Vec column[kInputTile];
#pragma GCC unroll 6
    for (std::size_t i = 0; i < kInputTile; ++i) column[i] = load_pixel<Whole>(tile, i, j, c, lanes);
    Vec done[kInputTile];
    transform_input(column, done);
#pragma GCC unroll 6
    for (std::size_t i = 0; i < kInputTile; ++i) half[i][j] = done[i];
  }
#pragma GCC unroll 6
  for (std::size_t i = 0; i < kInputTile; ++i) {
    Vec done[kInputTile];
    transform_input(half[i], done);
#pragma GCC unroll 6
    for (std::size_t j = 0; j < kInputTile; ++j) store(to + (i * kInputTile + j) * plane, done[j]);
  }
}

/// Writes B^T tile B, matrix by matrix `plane` floats apart; channels up to a multiple of kLanes.
template <bool Whole>
inline void transform_input_tile(const InputTile& tile, float* to, std::size_t plane) {
  std::size_t c = 0;
  for (; c + Vec::kLanes <= tile.channels; c += Vec::kLanes) {
    transform_vector<Whole>(tile, c, Vec::kLanes, to + c, plane);
  }
  if (c < tile.channels) transform_vector<Whole>(tile, c, tile.channels - c, to + c, plane);
}

/// One output tile: the top left pixel of each row (null: not written) and what to add.
struct OutputTile {
  float* rows[kTile];
  const float* residual[kTile];
  std::ptrdiff_t out_stride;
  std::ptrdiff_t residual_stride;
  std::size_t columns;
  std::size_t channels;
  const float* bias;
  bool residual_after;
  const float* slope;
};

template <class Function>
[[gnu::always_inline]] inline void write_pixel(const OutputTile& tile, const Function& function, Vec x, std::size_t row,
                                               std::size_t column, std::size_t c, std::size_t lanes) {
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
  if (whole) store(to, x);
  else store_first(to, x, lanes);
}

template <class Function>
[[gnu::always_inline]] inline void write_vector(const OutputTile& tile, const Function& function, const float* from,
                                                std::size_t plane, std::size_t c, std::size_t lanes) {
  Vec half[kTile][kInputTile];
#pragma GCC unroll 6
  for (std::size_t j = 0; j < kInputTile; ++j) {
    Vec column[kInputTile];
#pragma GCC unroll 6
    for (std::size_t i = 0; i < kInputTile; ++i) column[i] = load(from + (i * kInputTile + j) * plane);
    Vec done[kTile];
    transform_output(column, done);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kTile; ++i) half[i][j] = done[i];
  }
  Vec bias = zero();
  if (tile.bias != nullptr) bias = lanes >= Vec::kLanes ? load(tile.bias + c) : load_first(tile.bias + c, lanes);
#pragma GCC unroll 4
  for (std::size_t i = 0; i < kTile; ++i) {
    if (tile.rows[i] == nullptr) continue;
    Vec done[kTile];
    transform_output(half[i], done);
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kTile; ++j) {
      if (j < tile.columns) write_pixel(tile, function, done[j] + bias, i, j, c, lanes);
    }
  }
}

/// Writes act(A^T sums A + bias + residual) of one tile.
template <class Function>
inline void write_output_tile(const OutputTile& tile, const Function& function, const float* from, std::size_t plane) {
  std::size_t c = 0;
  for (; c + Vec::kLanes <= tile.channels; c += Vec::kLanes) {
    write_vector(tile, function, from + c, plane, c, Vec::kLanes);
  }
  if (c < tile.channels) write_vector(tile, function, from + c, plane, c, tile.channels - c);
}

}  // namespace
}  // namespace colonnade::kernels::winograd
