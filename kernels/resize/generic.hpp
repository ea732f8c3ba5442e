// SPDX-License-Identifier: Apache-2.0
// The elements that a vector of a resized line reads mostly lie within four vectors of the line: these are loaded and
// permuted. Where they lie apart, they are loaded one by one.
#pragma once

#include "kernels/base/lookup.hpp"
#include "kernels/resize/resize.hpp"

namespace colonnade::kernels::resize {
namespace {

inline constexpr std::size_t kLanes = Vec::kLanes;

/// The vector at p of which n elements may be read.
inline Vec get(const float* p, std::ptrdiff_t n) {
  constexpr auto lanes = static_cast<std::ptrdiff_t>(kLanes);
  return n >= lanes ? load(p) : n > 0 ? load_first(p, static_cast<std::size_t>(n)) : zero();
}

/// A start is four times the first element plus 0, 1 or 2: one, two or four vectors are read from there on. kApart:
/// elements lie farther apart.
inline constexpr std::int32_t kApart = -1;

/// Makes the columns of one vector relative to where it starts, which is returned.
inline std::int32_t settle_block(std::int32_t* columns, std::int32_t width) {
  constexpr auto lanes = static_cast<std::int32_t>(kLanes);
  std::int32_t lowest = columns[0], highest = columns[0];
  for (std::size_t i = 1; i < kLanes; ++i) {
    lowest = columns[i] < lowest ? columns[i] : lowest;
    highest = columns[i] > highest ? columns[i] : highest;
  }
  const std::int32_t span = highest - lowest + 1;
  if (span > 4 * lanes) return kApart;
  const std::int32_t kind = span > 2 * lanes ? 2 : span > lanes ? 1 : 0, reach = lanes << kind;
  std::int32_t start = lowest < width - reach ? lowest : width - reach;
  start = start < 0 ? 0 : start;
  for (std::size_t i = 0; i < kLanes; ++i) columns[i] -= start;
  return 4 * start + kind;
}

/// Where the vector of block b begins: the last one ends with the line, if that is as long as a vector.
inline std::size_t first_of(const Line& line, std::size_t b) {
  const std::size_t x = b * kLanes;
  return line.width_out < kLanes || x + kLanes <= line.width_out ? x : line.width_out - kLanes;
}

inline void run_settle(const Line& line) noexcept {
  const std::size_t stride = tap_stride(line.width_out), blocks = (line.width_out + kLanes - 1) / kLanes;
  for (std::size_t t = 0; t < line.taps; ++t) {
    std::int32_t* columns = line.columns + t * stride;
    std::int32_t last[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i) {
      const std::size_t x = first_of(line, blocks - 1) + i;
      last[i] = columns[x < line.width_out ? x : line.width_out - 1];
    }
    for (std::size_t i = 0; i < kLanes; ++i) columns[(blocks - 1) * kLanes + i] = last[i];
    for (std::size_t b = 0; b < blocks; ++b)
      line.starts[t * blocks + b] = settle_block(columns + b * kLanes, static_cast<std::int32_t>(line.width_in));
  }
}

inline Vec weigh(const BlendArgs& a, std::size_t i) {
  const auto left = static_cast<std::ptrdiff_t>(a.count - i);
  Vec sum = get(a.rows[0] + i, left) * broadcast(a.weights[0]);
  for (std::size_t j = 1; j < a.taps; ++j) sum = fma(get(a.rows[j] + i, left), broadcast(a.weights[j]), sum);
  return sum;
}

inline void run_blend(const BlendArgs& a) noexcept {
  std::size_t i = 0;
  for (; i + 4 * kLanes <= a.count; i += 4 * kLanes) {
    Vec sums[4];
    const Vec first = broadcast(a.weights[0]);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < 4; ++v) sums[v] = load(a.rows[0] + i + v * kLanes) * first;
    for (std::size_t j = 1; j < a.taps; ++j) {
      const Vec weight = broadcast(a.weights[j]);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < 4; ++v) sums[v] = fma(load(a.rows[j] + i + v * kLanes), weight, sums[v]);
    }
#pragma GCC unroll 4
    for (std::size_t v = 0; v < 4; ++v) store(a.out + i + v * kLanes, sums[v]);
  }
  for (; i + kLanes <= a.count; i += kLanes) store(a.out + i, weigh(a, i));
  if (i < a.count) store_first(a.out + i, weigh(a, i), a.count - i);
}

/// One tap of a vector of elements.
inline Vec pick(const float* in, std::size_t width, std::int32_t start, const std::int32_t* columns) {
  if (start == kApart) {
    float lanes[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = in[columns[i]];
    return load(lanes);
  }
  const float* from = in + (start >> 2);
  const std::ptrdiff_t left = static_cast<std::ptrdiff_t>(width) - (start >> 2), lanes = kLanes;
  const int kind = start & 3;
  if (kind == 0) return lookup(get(from, left), columns);
  const Vec low = lookup(get(from, left), get(from + lanes, left - lanes), columns);
  if (kind == 1) return low;
  return either(low, lookup(get(from + 2 * lanes, left - 2 * lanes), get(from + 3 * lanes, left - 3 * lanes), columns),
                columns);
}

inline void put(float* p, Vec x, std::size_t n) {
  if (n < kLanes)
    store_first(p, x, n);
  else
    store(p, x);
}

/// Every vector of a line is one of the input's, permuted.
inline bool permutes(const Line& line) {
  bool permutes = line.weights == nullptr && line.width_out >= kLanes && line.width_in >= kLanes;
  for (std::size_t b = 0; permutes && b * kLanes < line.width_out; ++b)
    permutes = line.starts[b] >= 0 && (line.starts[b] & 3) == 0;
  return permutes;
}

/// Line after line, so that memory is written in order; the next one too where it is the same.
template <bool kTwice>
inline void permute_line(const Line& line, const float* in, float* out) {
  const std::size_t width = line.width_out, whole = width / kLanes;
  const std::int32_t *columns = line.columns, *starts = line.starts;
  const auto permute = [&](std::size_t b, float* to) {
    const Vec x = lookup(load(in + (starts[b] >> 2)), columns + b * kLanes);
    store(to, x);
    if constexpr (kTwice) store(to + width, x);
  };
#pragma GCC unroll 4
  for (std::size_t b = 0; b < whole; ++b) permute(b, out + b * kLanes);
  if (whole * kLanes < width) permute(whole, out + width - kLanes);
}

inline void permute_lines(const LinesArgs& a) {
  const Line& line = *a.line;
  float* out = a.out;
  for (std::size_t i = 0; i < a.count; ++i, out += line.width_out) {
    if (i + 1 == a.count || a.in[i] != a.in[i + 1]) {
      permute_line<false>(line, a.in[i], out);
    } else {
      permute_line<true>(line, a.in[i++], out);
      out += line.width_out;
    }
  }
}

template <bool kWeighs>
inline void resize_block(const LinesArgs& a, std::size_t b) {
  const Line& line = *a.line;
  const std::size_t stride = tap_stride(line.width_out), blocks = (line.width_out + kLanes - 1) / kLanes;
  const std::int32_t* columns = line.columns + b * kLanes;
  const float* weights = kWeighs ? line.weights + first_of(line, b) : nullptr;
  float* out = a.out + first_of(line, b);
  for (std::size_t i = 0; i < a.count; ++i, out += line.width_out) {
    Vec sum = pick(a.in[i], line.width_in, line.starts[b], columns);
    if constexpr (kWeighs) {
      sum = sum * load(weights);
      for (std::size_t t = 1; t < line.taps; ++t)
        sum = fma(pick(a.in[i], line.width_in, line.starts[t * blocks + b], columns + t * stride),
                  load(weights + t * stride), sum);
    }
    put(out, sum, line.width_out);
  }
}

/// So many lines at a time that what is made of them stays in the nearest cache while each block passes.
inline void run_lines(const LinesArgs& all) noexcept {
  if (permutes(*all.line)) return permute_lines(all);
  constexpr std::size_t kNearFloats = 2048;
  const std::size_t width = all.line->width_out, most = width < kNearFloats ? kNearFloats / (width > 0 ? width : 1) : 1;
  for (std::size_t begin = 0; begin < all.count; begin += most) {
    LinesArgs a = all;
    a.in += begin;
    a.out += begin * width;
    a.count = all.count - begin < most ? all.count - begin : most;
    for (std::size_t b = 0; b * kLanes < width; ++b) {
      if (a.line->weights)
        resize_block<true>(a, b);
      else
        resize_block<false>(a, b);
    }
  }
}

}  // namespace
}  // namespace colonnade::kernels::resize
