// SPDX-License-Identifier: Apache-2.0
// The copying, transposing and interpolating loops of every tier.
#pragma once

#include <cstring>

#include "kernels/base/copy.hpp"
#include "kernels/base/fold.hpp"
#include "kernels/move/move.hpp"
#include "kernels/move/transpose.hpp"

namespace colonnade::kernels::move {
namespace {

/// The last vector ends with the last channel, over channels already copied where there are enough.
inline void copy_channels(const float* in, float* out, std::size_t channels) {
  if (channels < Vec::kLanes) return store_first(out, load_first(in, channels), channels);
  std::size_t c = 0;
  for (; c + Vec::kLanes <= channels; c += Vec::kLanes) store(out + c, load(in + c));
  if (c < channels) store(out + channels - Vec::kLanes, load(in + channels - Vec::kLanes));
}

inline constexpr std::size_t kBlock = Vec::kLanes * sizeof(float);

/// Fewer than two times N bytes.
template <std::size_t N>
inline void copy_rest(const std::byte* in, std::byte* out, std::size_t bytes) {
  if (bytes & N) {
    std::memcpy(out, in, N);
    in += N;
    out += N;
  }
  if constexpr (N > 1) copy_rest<N / 2>(in, out, bytes);
}

inline void copy_bytes(const std::byte* in, std::byte* out, std::size_t bytes) {
  std::size_t i = 0;
  for (; i + kBlock <= bytes; i += kBlock) std::memcpy(out + i, in + i, kBlock);
  copy_rest<kBlock / 2>(in + i, out + i, bytes - i);
}

/// Pixels that may be moved as floats.
inline bool in_floats(const void* in, const void* out, std::ptrdiff_t in_stride, std::ptrdiff_t out_stride,
                      std::size_t bytes) {
  const auto bits = reinterpret_cast<std::uintptr_t>(in) | reinterpret_cast<std::uintptr_t>(out) |
                    static_cast<std::uintptr_t>(in_stride) | static_cast<std::uintptr_t>(out_stride) | bytes;
  return bits % sizeof(float) == 0;
}

template <std::size_t kBytes>
inline void copy_pixels(const CopyArgs& a) {
  const auto* in = static_cast<const std::byte*>(a.in);
  auto* out = static_cast<std::byte*>(a.out);
  for (std::size_t p = 0; p < a.pixels; ++p, in += a.in_pixel_stride, out += a.out_pixel_stride)
    std::memcpy(out, in, kBytes);
}

inline void run_copy(const CopyArgs& a) noexcept {
  if (a.pixels == 0 || a.bytes == 0) return;
  const auto width = static_cast<std::ptrdiff_t>(a.bytes);
  if (a.in_pixel_stride == width && a.out_pixel_stride == width) {
    copy_memory(a.out, a.in, a.pixels * a.bytes);
    return;
  }
  switch (a.bytes) {
    case 1: return copy_pixels<1>(a);
    case 2: return copy_pixels<2>(a);
    default: break;
  }
  const auto* in = static_cast<const std::byte*>(a.in);
  auto* out = static_cast<std::byte*>(a.out);
  if (in_floats(in, out, a.in_pixel_stride, a.out_pixel_stride, a.bytes)) {
    const std::size_t channels = a.bytes / sizeof(float);
    for (std::size_t p = 0; p < a.pixels; ++p, in += a.in_pixel_stride, out += a.out_pixel_stride) {
      copy_channels(reinterpret_cast<const float*>(in), reinterpret_cast<float*>(out), channels);
    }
    return;
  }
  for (std::size_t p = 0; p < a.pixels; ++p, in += a.in_pixel_stride, out += a.out_pixel_stride) {
    copy_bytes(in, out, a.bytes);
  }
}

inline void run_fill(const FillArgs& args) noexcept {
  FillArgs a = args;
  if (a.out_pixel_stride == static_cast<std::ptrdiff_t>(a.bytes)) {
    a.bytes *= a.pixels;
    a.pixels = a.pixels > 0 ? 1 : 0;
  }
  std::byte block[kBlock];
  for (std::size_t i = 0; i < kBlock; i += sizeof a.pattern) std::memcpy(block + i, &a.pattern, sizeof a.pattern);
  auto* out = static_cast<std::byte*>(a.out);
  for (std::size_t p = 0; p < a.pixels; ++p, out += a.out_pixel_stride) {
    std::size_t i = 0;
    for (; i + kBlock <= a.bytes; i += kBlock) std::memcpy(out + i, block, kBlock);
    copy_rest<kBlock / 2>(block, out + i, a.bytes - i);
  }
}

/// Where the lines of a matrix lie, evenly or as a list has it: line i at p[i], those from `line` on at from(p, line).
template <class T>
struct Even {
  T* first;
  std::ptrdiff_t stride;
  T* operator[](std::size_t line) const { return first + static_cast<std::ptrdiff_t>(line) * stride; }
  Even from(std::size_t line, std::size_t element) const { return {(*this)[line] + element, stride}; }
};
template <class T>
struct Listed {
  T* first;
  const std::ptrdiff_t* offsets;
  T* operator[](std::size_t line) const { return first + offsets[line]; }
  Listed from(std::size_t line, std::size_t element) const { return {first + element, offsets + line}; }
};

/// A kLanes x kLanes block: `rows` lines of `columns` floats to `columns` lines of `rows`.
template <bool Whole, class From, class To>
inline void transpose_block(From from, To to, int rows, int columns) {
  Vec r[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    const auto line = static_cast<std::size_t>(i);
    if constexpr (Whole)
      r[i] = load(from[line]);
    else
      r[i] = i < rows ? load_first(from[line], static_cast<std::size_t>(columns)) : zero();
  }
  transpose(r);
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    const auto line = static_cast<std::size_t>(i);
    if constexpr (Whole)
      store(to[line], r[i]);
    else if (i < columns)
      store_first(to[line], r[i], static_cast<std::size_t>(rows));
  }
}

inline int lanes_of(std::size_t left) { return left < Vec::kLanes ? static_cast<int>(left) : kLanes; }

/// `rows` lines of `columns` floats to `columns` lines of `rows`, in squares of a cache line: lines that lie far apart
/// may share few places in the cache, so each is used up before the next ones come. Squares follow each other down the
/// rows, or with kColumnsFirst the columns: the planes, which lie far apart, so that a few pages are touched at a time.
/// What the next columns are written to is fetched meanwhile: a stretch of a plane is too short to be foreseen.
/// `rows_far`: what is read lies farther apart than what is written.
template <bool kColumnsFirst, class From, class To>
inline void transpose_matrix(From from, To to, bool rows_far, std::size_t rows, std::size_t columns) {
  constexpr std::size_t kLine = Vec::kLanes > 16 ? Vec::kLanes : 16;
  const auto block = [&](std::size_t r, std::size_t c) {
    const int height = lanes_of(rows - r);
    const int width = lanes_of(columns - c);
    if (height == kLanes && width == kLanes)
      transpose_block<true>(from.from(r, c), to.from(c, r), height, width);
    else
      transpose_block<false>(from.from(r, c), to.from(c, r), height, width);
  };
  const auto square = [&](std::size_t r, std::size_t c) {
    const std::size_t bottom = rows - r < kLine ? rows : r + kLine, right = columns - c < kLine ? columns : c + kLine;
    if (rows_far) {
      for (std::size_t y = r; y < bottom; y += Vec::kLanes)
        for (std::size_t x = c; x < right; x += Vec::kLanes) block(y, x);
    } else {
      for (std::size_t x = c; x < right; x += Vec::kLanes)
        for (std::size_t y = r; y < bottom; y += Vec::kLanes) block(y, x);
    }
  };
  if constexpr (kColumnsFirst) {
    for (std::size_t c = 0; c < columns; c += kLine) {
      for (std::size_t r = 0; r < rows; r += kLine) {
        for (std::size_t n = c + kLine; n < columns && n < c + 2 * kLine; ++n) __builtin_prefetch(to[n] + r, 1);
        square(r, c);
      }
    }
  } else {
    for (std::size_t r = 0; r < rows; r += kLine) {
      for (std::size_t c = 0; c < columns; c += kLine) square(r, c);
    }
  }
}

/// Calls block(p) for vectors of pixels: the last one ends with the last pixel, over pixels already done where there is
/// no whole vector left. Returns the pixels done: all, or none where there are too few.
template <class Block>
inline std::size_t in_vectors(std::size_t pixels, Block block) {
  if (pixels < Vec::kLanes) return 0;
  std::size_t p = 0;
  for (; p + Vec::kLanes <= pixels; p += Vec::kLanes) block(p);
  if (p < pixels) block(pixels - Vec::kLanes);
  return pixels;
}

/// N planes woven into whole vectors of pixels; returns the pixels done.
template <int N>
inline std::size_t weave_pixels(const PlanesToPixelsArgs& a) {
  return in_vectors(a.pixels, [&](std::size_t p) {
    Vec planes[N];
    Vec pixels[N];
#pragma GCC unroll 4
    for (int c = 0; c < N; ++c) planes[c] = load(a.in + c * a.plane_stride + p);
    weave<N, false>(planes, pixels);
#pragma GCC unroll 4
    for (int c = 0; c < N; ++c) store(a.out + p * N + static_cast<std::size_t>(c * kLanes), pixels[c]);
  });
}

template <int N>
inline std::size_t unweave_pixels(const PixelsToPlanesArgs& a) {
  return in_vectors(a.pixels, [&](std::size_t p) {
    Vec planes[N];
    Vec pixels[N];
#pragma GCC unroll 4
    for (int c = 0; c < N; ++c) pixels[c] = load(a.in + p * N + static_cast<std::size_t>(c * kLanes));
    weave<N, true>(pixels, planes);
#pragma GCC unroll 4
    for (int c = 0; c < N; ++c) store(a.out + c * a.plane_stride + p, planes[c]);
  });
}

inline void run_planes_to_pixels(const PlanesToPixelsArgs& a) noexcept {
  if (a.channels == 1 && a.out_pixel_stride == 1) return copy_channels(a.in, a.out, a.pixels);
  std::size_t done = 0;
  if (a.out_pixel_stride == static_cast<std::ptrdiff_t>(a.channels)) {
    if (a.channels == 2) done = weave_pixels<2>(a);
    if (a.channels == 3) done = weave_pixels<3>(a);
    if (a.channels == 4) done = weave_pixels<4>(a);
  }
  const Even<const float> planes{a.in + done, a.plane_stride};
  const Even<float> pixels{a.out + static_cast<std::ptrdiff_t>(done) * a.out_pixel_stride, a.out_pixel_stride};
  transpose_matrix<false>(planes, pixels, a.plane_stride > a.out_pixel_stride, a.channels, a.pixels - done);
}

inline void run_pixels_to_planes(const PixelsToPlanesArgs& a) noexcept {
  if (a.channels == 1 && a.in_pixel_stride == 1) return copy_channels(a.in, a.out, a.pixels);
  std::size_t done = 0;
  if (a.in_pixel_stride == static_cast<std::ptrdiff_t>(a.channels)) {
    if (a.channels == 2) done = unweave_pixels<2>(a);
    if (a.channels == 3) done = unweave_pixels<3>(a);
    if (a.channels == 4) done = unweave_pixels<4>(a);
  }
  const Even<const float> pixels{a.in + static_cast<std::ptrdiff_t>(done) * a.in_pixel_stride, a.in_pixel_stride};
  const Even<float> planes{a.out + done, a.plane_stride};
  transpose_matrix<true>(pixels, planes, a.in_pixel_stride > a.plane_stride, a.pixels - done, a.channels);
}

/// One vector of channels of one output pixel; Y, X: the taps, or 0 for those of the arguments.
template <int Y, int X, bool Tail>
inline __attribute__((always_inline)) Vec blend_taps(const ResizeArgs& a, const std::int32_t* columns,
                                                     const float* weights, std::size_t c, std::size_t n) {
  const std::size_t taps_y = Y ? Y : a.taps_y;
  const std::size_t taps_x = X ? X : a.taps_x;
  Vec sum = zero();
#pragma GCC unroll 2
  for (std::size_t j = 0; j < taps_y; ++j) {
    Vec row = zero();
#pragma GCC unroll 2
    for (std::size_t i = 0; i < taps_x; ++i) {
      const float* pixel = a.in_rows[j] + columns[i] * a.in_pixel_stride + c;
      row = fma(get<Tail>(pixel, n), broadcast(weights[i]), row);
    }
    sum = fma(row, broadcast(a.row_weights[j]), sum);
  }
  return sum;
}

template <int Y, int X>
void resize_row(const ResizeArgs& a) {
  float* out = a.out;
  const std::int32_t* columns = a.columns;
  const float* weights = a.column_weights;
  for (std::size_t x = 0; x < a.width_out; ++x, out += a.out_pixel_stride, columns += a.taps_x, weights += a.taps_x) {
    std::size_t c = 0;
    for (; c + Vec::kLanes <= a.channels; c += Vec::kLanes) {
      store(out + c, blend_taps<Y, X, false>(a, columns, weights, c, Vec::kLanes));
    }
    if (c == a.channels) continue;
    const std::size_t n = a.channels - c;
    store_first(out + c, blend_taps<Y, X, true>(a, columns, weights, c, n), n);
  }
}

inline bool copies_pixels(const ResizeArgs& a) {
  if (a.taps_y != 1 || a.taps_x != 1 || a.row_weights[0] != 1.0f) return false;
  for (std::size_t x = 0; x < a.width_out; ++x) {
    if (a.column_weights[x] != 1.0f) return false;
  }
  return true;
}

inline void run_resize(const ResizeArgs& a) noexcept {
  if (copies_pixels(a)) {
    float* out = a.out;
    for (std::size_t x = 0; x < a.width_out; ++x, out += a.out_pixel_stride) {
      copy_channels(a.in_rows[0] + a.columns[x] * a.in_pixel_stride, out, a.channels);
    }
    return;
  }
  if (a.taps_y == 2 && a.taps_x == 2) return resize_row<2, 2>(a);
  resize_row<0, 0>(a);
}

}  // namespace
}  // namespace colonnade::kernels::move
