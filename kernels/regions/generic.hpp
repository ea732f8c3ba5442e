// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/simd.hpp"
#include "kernels/regions/regions.hpp"

namespace colonnade::kernels::regions {
namespace {

constexpr std::size_t kVectors = kLanes / Vec::kLanes;
/// As many sums as hide how long one takes, and as registers hold.
constexpr std::size_t kRowsAtOnce = 8 / kVectors;

/// Adds rows [r, r + kRows) to the bins.
template <std::size_t kRows>
inline void add_rows(const AlignArgs& args, const float* plane, std::size_t r) {
  Vec lines[kRows][kVectors];
  const float* rows[kRows];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < kRows; ++j) {
    rows[j] = plane + args.rows[r + j] * args.row_stride;
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kVectors; ++v) lines[j][v] = zero();
  }
  const float* weights = args.column_weights;
  for (std::size_t k = 0; k < args.column_count; ++k, weights += args.column_weights_stride) {
    const std::int32_t column = args.columns[k];
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kRows; ++j) {
      const Vec x = broadcast(rows[j][column]);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kVectors; ++v) lines[j][v] = fma(x, load(weights + v * Vec::kLanes), lines[j][v]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t j = 0; j < kRows; ++j) {
    const float* row_weights = args.row_weights + (r + j) * args.height;
    for (std::size_t y = 0; y < args.height; ++y) {
      if (row_weights[y] == 0) continue;
      float* sums = args.sums + y * kLanes;
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kVectors; ++v)
        store(sums + v * Vec::kLanes, fma(broadcast(row_weights[y]), lines[j][v], load(sums + v * Vec::kLanes)));
    }
  }
}

inline void align_plane(const AlignArgs& args, const float* plane, float* out) {
  for (std::size_t i = 0; i < args.height * kLanes; ++i) args.sums[i] = 0;
  std::size_t r = 0;
  for (; r + kRowsAtOnce <= args.row_count; r += kRowsAtOnce) add_rows<kRowsAtOnce>(args, plane, r);
  for (; r < args.row_count; ++r) add_rows<1>(args, plane, r);
  for (std::size_t y = 0; y < args.height; ++y, out += args.out_row_stride)
    for (std::size_t x = 0; x < args.width; ++x) out[x] = args.sums[y * kLanes + x];
}

inline void align(const AlignArgs& args) noexcept {
  for (std::size_t c = 0; c < args.channels; ++c)
    align_plane(args, args.planes + static_cast<std::ptrdiff_t>(c) * args.plane_stride,
                args.out + static_cast<std::ptrdiff_t>(c) * args.out_plane_stride);
}

}  // namespace
}  // namespace colonnade::kernels::regions
