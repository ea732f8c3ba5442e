// SPDX-License-Identifier: Apache-2.0
// The depthwise loops of every tier around their tiles.
#pragma once

#include "kernels/base/apart.hpp"
#include "kernels/depthwise/tile.hpp"

namespace colonnade::kernels::depthwise {
namespace {

/// Runs channels [begin, end) of `row` (and the next, where the tile has two) from left to right, tile by tile.
template <class WideTile, class Tile4, class Tile2, class Tile1>
inline void walk(std::size_t width, Place at, WideTile wide, Tile4 four, Tile2 two, Tile1 one) {
  for (at.x = 0; width - at.x >= kWidest; at.x += kWidest) wide(at);
  if (width - at.x >= 4) four(at), at.x += 4;
  if (width - at.x >= 2) two(at), at.x += 2;
  if (width - at.x >= 1) one(at);
}

template <int K, int S, int R, int T>
inline void tile_at(const Args& a, const Place& at, bool whole_rows) {
  const std::ptrdiff_t first = first_column(a, at.x);
  const bool inside = first >= 0 && first + (T - 1) * S + K <= static_cast<std::ptrdiff_t>(a.width_in);
  if (inside && whole_rows)
    tile<K, S, R, T, false>(a, at);
  else
    tile<K, S, R, T, true>(a, at);
}

template <int K, int S, int R>
void run_rows(const Args& a, const Place& at) {
  bool whole = true;
  for (std::size_t i = at.row * K; i < (at.row + R) * K; ++i) whole = whole && a.in_rows[i] != nullptr;
  walk(
      a.width_out, at, [&](const Place& p) { tile_at<K, S, R, kWidest>(a, p, whole); },
      [&](const Place& p) { tile_at<K, S, R, 4>(a, p, whole); },
      [&](const Place& p) { tile_at<K, S, R, 2>(a, p, whole); },
      [&](const Place& p) { tile_at<K, S, R, 1>(a, p, whole); });
}

template <bool Tail>
void run_any(const Args& a, const Place& at) {
  walk(
      a.width_out, at, [&](const Place& p) { tile_any<kWidest, Tail>(a, p); },
      [&](const Place& p) { tile_any<4, Tail>(a, p); }, [&](const Place& p) { tile_any<2, Tail>(a, p); },
      [&](const Place& p) { tile_any<1, Tail>(a, p); });
}

using RowsFn = void (*)(const Args&, const Place&);

/// The loops for a kernel shape: one row, and two rows that share inputs (null where there is no such loop).
struct Loops {
  RowsFn one;
  RowsFn two;
};

template <int K>
inline Loops loops_of_size(std::size_t stride) {
  if (stride == 1) {
    if constexpr (kRows == 2)
      return {run_rows<K, 1, 1>, run_rows<K, 1, 2>};
    else
      return {run_rows<K, 1, 1>, nullptr};
  }
  if (stride == 2) return {run_rows<K, 2, 1>, nullptr};
  return {run_any<false>, nullptr};
}

inline Loops loops_for(const Args& a) {
  if (a.residual_rows != nullptr || a.dilation_w != 1 || a.kernel_h != a.kernel_w) return {run_any<false>, nullptr};
  switch (a.kernel_w) {
    case 3: return loops_of_size<3>(a.stride_w);
    case 5: return loops_of_size<5>(a.stride_w);
    case 7: return loops_of_size<7>(a.stride_w);
    default: return {run_any<false>, nullptr};
  }
}

/// Whether output row `row` + 1 reads the input rows of `row` moved by one.
inline bool shares_rows(const Args& a, std::size_t row) {
  if (row + 1 >= a.rows || a.kernel_h < 2) return false;
  const float* const* rows = a.in_rows + row * a.kernel_h;
  for (std::size_t ky = 0; ky + 1 < a.kernel_h; ++ky) {
    if (rows[a.kernel_h + ky] != rows[ky + 1]) return false;
  }
  return true;
}

/// A 1x1 window that stays inside the image and needs no more than a clip behind it.
inline bool only_scales(const Args& a) {
  if (!bounds_of(a.epilogue.activation).enough) return false;
  if (a.kernel_h != 1 || a.kernel_w != 1 || a.stride_w != 1 || a.pad_left != 0 || a.width_out > a.width_in)
    return false;
  for (std::size_t row = 0; row < a.rows; ++row) {
    if (a.in_rows[row] == nullptr) return false;
  }
  return true;
}

/// Pixel after pixel: bound by memory, so in its order.
template <bool Residual>
COLONNADE_TILE void run_scale(const Args& a, std::size_t row) {
  const Bounds bounds = bounds_of(a.epilogue.activation);
  const Vec low = broadcast(bounds.low);
  const Vec high = broadcast(bounds.high);
  const bool after = a.epilogue.residual_after;
  const std::size_t rest = a.channels % Vec::kLanes, whole = a.channels - rest;
  const float* in = a.in_rows[row];
  const float* residual = residual_row(a, row);
  float* out = a.out_rows[row];
  const auto finished = [&](Vec y, auto&& added) {
    if (Residual && !after) y = y + added();
    y = min(high, max(low, y));
    return Residual && after ? y + added() : y;
  };
  for (std::size_t x = 0; x < a.width_out; ++x, in += a.in_pixel_stride, out += a.out_pixel_stride) {
#pragma GCC unroll 4
    for (std::size_t c = 0; c < whole; c += Vec::kLanes) {
      const Vec y = fma(load(in + c), load(a.weights + c), a.bias ? load(a.bias + c) : zero());
      store(out + c, finished(y, [&] { return load(residual + c); }));
    }
    if (rest > 0) {
      const Vec bias = a.bias ? load_first(a.bias + whole, rest) : zero();
      const Vec y = fma(load_first(in + whole, rest), load_first(a.weights + whole, rest), bias);
      store_first(out + whole, finished(y, [&] { return load_first(residual + whole, rest); }), rest);
    }
    if (Residual) residual += a.residual_pixel_stride;
  }
}

inline constexpr std::size_t kMostTaps = 7;  ///< of a kernel that has loops of its own

/// A dilated kernel that has loops of its own once columns that it never reads together are apart.
inline bool comes_apart(const Args& a) {
  const bool is_odd = a.kernel_w % 2 == 1 && a.kernel_w >= 3 && a.kernel_w <= kMostTaps;
  return a.dilation_w > 1 && a.stride_w == 1 && is_odd && a.kernel_h == a.kernel_w && a.residual_rows == nullptr;
}

inline void run_generic(const Args& a) noexcept {
  if (comes_apart(a)) return run_apart<kMostTaps>(a, run_generic);
  const Loops loops = loops_for(a);
  const std::size_t whole = a.channels / Vec::kLanes * Vec::kLanes;
  if (only_scales(a)) {
    for (std::size_t row = 0; row < a.rows; ++row) {
      if (residual_row(a, row))
        run_scale<true>(a, row);
      else
        run_scale<false>(a, row);
    }
    return;
  }
  // The last channels run as a vector that overlaps the one before. Not with a residual: it may be the output.
  const bool overlap = whole > 0 && whole < a.channels && a.residual_rows == nullptr;
  for (std::size_t row = 0; row < a.rows;) {
    const bool pair = loops.two != nullptr && shares_rows(a, row);
    const RowsFn run = pair ? loops.two : loops.one;
    const std::size_t end = overlap ? a.channels : whole;
    for (std::size_t c = 0, stop = 0; c < end; c = stop) {
      stop = c + kChannelBlock + Vec::kLanes <= end ? c + kChannelBlock : end;
      run(a, {row, 0, c, stop});
    }
    const std::size_t rows = pair ? 2 : 1;
    for (std::size_t r = row; r < row + rows && whole < a.channels && !overlap; ++r) {
      run_any<true>(a, {r, 0, whole, a.channels});
    }
    row += rows;
  }
}

#undef COLONNADE_TILE

}  // namespace
}  // namespace colonnade::kernels::depthwise
