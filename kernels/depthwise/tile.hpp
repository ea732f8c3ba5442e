// SPDX-License-Identifier: Apache-2.0
// The depthwise tiles of every tier. A tile is a few neighbouring output pixels of one row, or of two rows that share
// their input rows (stride 1), times one vector of channels; its sums live in registers, an input pixel is loaded once
// for all of them, and each sum takes its taps in the order (ky, kx) whatever the tile.
#pragma once

#include "kernels/base/fold.hpp"
#include "kernels/base/vector_math.hpp"
#include "kernels/depthwise/depthwise.hpp"

namespace colonnade::kernels::depthwise {
namespace {

inline constexpr int kLanes = static_cast<int>(Vec::kLanes);
/// Widest tile, and the rows of a tile: what 32 or 16 vector registers hold beside the weights of a kernel row.
inline constexpr int kWidest = 7;
inline constexpr int kRows = kLanes == 16 ? 2 : 1;
/// Channels that all pixels of a row pass through before the next: their weights stay in L1.
inline constexpr std::size_t kChannelBlock = 256;

// Sanitizers check the loads and stores that a tile calls, not the tile: with every access of an unrolled tile checked
// in line, a file takes minutes to compile.
#define COLONNADE_TILE __attribute__((no_sanitize("address", "undefined")))

/// One tile's place: output rows from `row`, output pixels from `x`, channels [begin, end).
struct Place {
  std::size_t row;
  std::size_t x;
  std::size_t begin;
  std::size_t end;
};

inline std::ptrdiff_t first_column(const Args& a, std::size_t x) {
  return static_cast<std::ptrdiff_t>(x * a.stride_w) - static_cast<std::ptrdiff_t>(a.pad_left);
}

inline const float* residual_row(const Args& a, std::size_t row) {
  return a.residual_rows ? a.residual_rows[row] : nullptr;
}

/// Finishes n channels of `count` pixels whose sums lie at sums[pixel * kLanes].
[[gnu::noinline]] inline void finish_any(const Args& a, std::size_t row, std::size_t x, std::size_t channel, int count,
                                         const float* sums, std::size_t n) {
  const float* residual = residual_row(a, row);
  const UnaryOp& activation = a.epilogue.activation;
  const float* slope = activation.slope ? activation.slope + channel : nullptr;
  float* out = a.out_rows[row];
  for (int t = 0; t < count; ++t) {
    const auto pixel = static_cast<std::ptrdiff_t>(x) + t;
    const auto c = static_cast<std::ptrdiff_t>(channel);
    Vec y = load(sums + t * kLanes);
    const Vec r = residual ? load_first(residual + pixel * a.residual_pixel_stride + c, n) : zero();
    if (residual && !a.epilogue.residual_after) y = y + r;
    y = call_first(AnyUnary{activation}, y, slope, n);
    if (residual && a.epilogue.residual_after) y = y + r;
    store_first(out + pixel * a.out_pixel_stride + c, y, n);
  }
}

/// The part of the epilogue that a tile does to its sums: identity, relu and clip are clips of these bounds, other
/// activations follow in finish_tile.
struct Bounds {
  bool enough;
  float low;
  float high;
};

inline Bounds bounds_of(const UnaryOp& op) {
  const float inf = __builtin_inff();
  if (op.kind == Unary::relu) return {true, 0, inf};
  if (op.kind == Unary::clip) return {true, op.a, op.b};
  return {op.kind == Unary::identity, -inf, inf};
}

/// The activation of channels [begin, end) of `pixels` pixels, in place, while they are in the first-level cache.
[[gnu::noinline]] inline void finish_tile(const UnaryOp& op, float* out, std::ptrdiff_t stride, int pixels,
                                          std::size_t begin, std::size_t end) {
  const std::size_t rest = (end - begin) % Vec::kLanes;
  with_unary(op, [&](const auto& function) {
    const float* slope = op.slope ? op.slope + begin : nullptr;
    const float* last_slope = op.slope ? op.slope + end - rest : nullptr;
    for (int t = 0; t < pixels; ++t, out += stride) {
      map_vectors(function, out + begin, out + begin, end - begin, slope);
      float* last = out + end - rest;
      if (rest > 0) store_first(last, call_first(function, load_first(last, rest), last_slope, rest), rest);
    }
  });
}

template <int T>
COLONNADE_TILE inline __attribute__((always_inline)) void store_tile(const Vec* sums, float* out, std::ptrdiff_t stride,
                                                                     const Bounds& bounds) {
  const Vec low = broadcast(bounds.low);
  const Vec high = broadcast(bounds.high);
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) store(out + t * stride, min(high, max(low, sums[t])));
}

template <int T>
COLONNADE_TILE inline __attribute__((always_inline)) void store_any(const Args& a, const Place& at, std::size_t row,
                                                                    std::size_t channel, const Vec* sums,
                                                                    std::size_t n) {
  float stored[T * kLanes];
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) store(stored + t * kLanes, sums[t]);
  finish_any(a, row, at.x, channel, T, stored, n);
}

/// The vector of channels after c: the last one of all overlaps the one before.
inline std::size_t next_channel(std::size_t c, std::size_t end) {
  const std::size_t next = c + Vec::kLanes;
  return next < end && next + Vec::kLanes > end ? end - Vec::kLanes : next;
}

/// Columns of a tile that lie in the image.
struct Columns {
  int begin;
  int end;
};

/// Adds one input row to the sums of T outputs of the upper and / or the lower row; null rows are skipped when Checked.
/// Once: weights are loaded once, and pixels that one of the rows reads; two rows of a large kernel have no registers
/// for that.
template <int K, int S, int T, bool Upper, bool Lower, bool Checked, bool Once>
COLONNADE_TILE inline __attribute__((always_inline)) void add_row(Vec* upper, Vec* lower, const float* in,
                                                                  std::ptrdiff_t stride, const float* upper_weights,
                                                                  const float* lower_weights,
                                                                  std::ptrdiff_t weight_stride, Columns columns) {
  if (Checked && in == nullptr) return;
  Vec wu[K];
  Vec wl[K];
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) {
    if constexpr (Upper)
      wu[k] = Once ? load_once(upper_weights + k * weight_stride) : load(upper_weights + k * weight_stride);
    if constexpr (Lower)
      wl[k] = Once ? load_once(lower_weights + k * weight_stride) : load(lower_weights + k * weight_stride);
  }
  const std::ptrdiff_t three = 3 * stride;
#pragma GCC unroll 32
  for (int j = 0; j < (T - 1) * S + K; ++j) {
    if (j > 0 && j % 3 == 0) {
      in += three;
      hide(in);  // else GCC gives each column of a tile an address of its own and spills them
    }
    if (Checked && (j < columns.begin || j >= columns.end)) continue;
    const Vec v = Once && !(Upper && Lower) ? load_once(in + j % 3 * stride) : load(in + j % 3 * stride);
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      const int k = j - t * S;
      if (k < 0 || k >= K) continue;
      if constexpr (Upper) upper[t] = fma(v, wu[k], upper[t]);
      if constexpr (Lower) lower[t] = fma(v, wl[k], lower[t]);
    }
  }
}

/// T pixels of R rows of a K x K kernel, stride S, dilation 1, whole vectors of channels. Checked: input rows may be
/// null and columns may lie outside the image.
template <int K, int S, int R, int T, bool Checked>
COLONNADE_TILE void tile(const Args& a, const Place& at) {
  constexpr int kColumns = (T - 1) * S + K;
  constexpr bool kOnce = kLanes == 16 && (R == 1 || K == 3);
  const std::ptrdiff_t first = first_column(a, at.x);
  const std::ptrdiff_t present = static_cast<std::ptrdiff_t>(a.width_in) - first;
  const Columns columns = {first < -kColumns ? kColumns
                           : first < 0       ? static_cast<int>(-first)
                                             : 0,
                           present < 0          ? 0
                           : present < kColumns ? static_cast<int>(present)
                                                : kColumns};
  const std::ptrdiff_t stride = a.in_pixel_stride;
  const std::ptrdiff_t out_stride = a.out_pixel_stride;
  const std::ptrdiff_t weight_stride = a.weight_stride;
  const float* rows[K + R - 1];
  for (int y = 0; y < K + R - 1; ++y) {
    const float* row = a.in_rows[at.row * K + static_cast<std::size_t>(y < K ? y : 2 * K - 1)];
    rows[y] = row ? row + first * stride : nullptr;
  }
  float* out[R];
  for (int r = 0; r < R; ++r) {
    out[r] = a.out_rows[at.row + static_cast<std::size_t>(r)] + static_cast<std::ptrdiff_t>(at.x) * out_stride;
  }
  const float* const weights = a.weights;
  const float* const bias = a.bias;
  const Bounds bounds = bounds_of(a.epilogue.activation);
  const auto row_at = [&](int y, std::size_t c) { return Checked && rows[y] == nullptr ? nullptr : rows[y] + c; };
  for (std::size_t c = at.begin; c < at.end; c = next_channel(c, at.end)) {
    Vec sums[R][T];
    const Vec start = bias ? load(bias + c) : zero();
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) sums[r][t] = start;
    }
    const float* w = weights + c;
    if constexpr (R == 1) {
#pragma GCC unroll 3
      for (int y = 0; y < K; ++y, w += K * weight_stride) {
        add_row<K, S, T, true, false, Checked, kOnce>(sums[0], nullptr, row_at(y, c), stride, w, nullptr, weight_stride,
                                                      columns);
      }
    } else {
      add_row<K, S, T, true, false, Checked, kOnce>(sums[0], sums[1], row_at(0, c), stride, w, nullptr, weight_stride,
                                                    columns);
#pragma GCC unroll 2
      for (int y = 1; y < K; ++y, w += K * weight_stride) {
        add_row<K, S, T, true, true, Checked, kOnce>(sums[0], sums[1], row_at(y, c), stride, w + K * weight_stride, w,
                                                     weight_stride, columns);
      }
      add_row<K, S, T, false, true, Checked, kOnce>(sums[0], sums[1], row_at(K, c), stride, nullptr, w, weight_stride,
                                                    columns);
    }
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) store_tile<T>(sums[r], out[r] + c, out_stride, bounds);
  }
  if (bounds.enough) return;
  for (int r = 0; r < R; ++r) finish_tile(a.epilogue.activation, out[r], out_stride, T, at.begin, at.end);
}

/// T pixels of one row, any kernel, stride and dilation. Tail: fewer than kLanes channels.
template <int T, bool Tail>
COLONNADE_TILE void tile_any(const Args& a, const Place& at) {
  const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(a.stride_w);
  const std::ptrdiff_t width = static_cast<std::ptrdiff_t>(a.width_in);
  const std::size_t n = Tail ? at.end - at.begin : Vec::kLanes;
  for (std::size_t c = at.begin; c < at.end; c = next_channel(c, at.end)) {
    Vec sums[T];
    const Vec start = a.bias ? get<Tail>(a.bias + c, n) : zero();
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) sums[t] = start;
    for (std::size_t ky = 0; ky < a.kernel_h; ++ky) {
      const float* row = a.in_rows[at.row * a.kernel_h + ky];
      if (row == nullptr) continue;
      const float* weights = a.weights + c + static_cast<std::ptrdiff_t>(ky * a.kernel_w) * a.weight_stride;
      std::ptrdiff_t column = first_column(a, at.x);
      for (std::size_t kx = 0; kx < a.kernel_w; ++kx, weights += a.weight_stride) {
        const Vec w = get<Tail>(weights, n);
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) {
          const std::ptrdiff_t x = column + t * step;
          if (x < 0 || x >= width) continue;
          sums[t] = fma(get<Tail>(row + x * a.in_pixel_stride + static_cast<std::ptrdiff_t>(c), n), w, sums[t]);
        }
        column += static_cast<std::ptrdiff_t>(a.dilation_w);
      }
    }
    store_any<T>(a, at, at.row, c, sums, n);
  }
}

}  // namespace
}  // namespace colonnade::kernels::depthwise
