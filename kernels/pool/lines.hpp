// SPDX-License-Identifier: Apache-2.0
// Pooling of planes: lanes are pixels of a row.
#pragma once

#include "kernels/base/simd.hpp"
#include "kernels/pool/generic.hpp"
#include "kernels/pool/pool.hpp"

namespace colonnade::kernels::pool {
namespace {

inline void fill(float* begin, const float* end, Vec x) {
  for (; begin + Vec::kLanes <= end; begin += Vec::kLanes) store(begin, x);
  if (begin < end) store_first(begin, x, static_cast<std::size_t>(end - begin));
}

/// line[x] = fold(how to load it at x), of every pixel.
template <class Fold>
inline void write_line(float* line, std::size_t pixels, Fold fold) {
  std::size_t x = 0;
  for (; x + Vec::kLanes <= pixels; x += Vec::kLanes)
    store(line + x, fold([x](const float* row) { return load(row + x); }));
  const std::size_t left = pixels - x;
  if (left > 0) store_first(line + x, fold([x, left](const float* row) { return load_first(row + x, left); }), left);
}

template <class Op, std::size_t N>
inline void fold_rows(const float* const (&rows)[N], float* line, std::size_t pixels) {
  write_line(line, pixels, [&rows](auto load_of) {
    Vec sum = Op::start();
#pragma GCC unroll 4
    for (std::size_t k = 0; k < N; ++k) sum = Op::add(sum, load_of(rows[k]));
    return sum;
  });
}

/// Folds those of a window's rows that exist.
template <class Op>
inline void fold_rows(const LinesArgs& a, const float* const* rows, float* line) {
  constexpr std::size_t kFew = 4;
  const float* found[kFew] = {};
  std::size_t count = 0;
  for (std::size_t k = 0; k < a.kernel_h && count < kFew; ++k)
    if (rows[k] != nullptr) found[count++] = rows[k];
  const float *const first = found[0], *const second = found[1], *const third = found[2];
  float* const out = line + a.pad_left;
  switch (a.kernel_h <= kFew ? count : 0) {
    case 1: return fold_rows<Op, 1>({first}, out, a.width_in);
    case 2: return fold_rows<Op, 2>({first, second}, out, a.width_in);
    case 3: return fold_rows<Op, 3>({first, second, third}, out, a.width_in);
    case 4: return fold_rows<Op, 4>({first, second, third, found[3]}, out, a.width_in);
    default: break;
  }
  write_line(out, a.width_in, [&a, rows](auto load_of) {
    Vec sum = Op::start();
    for (std::size_t k = 0; k < a.kernel_h; ++k)
      if (rows[k] != nullptr) sum = Op::add(sum, load_of(rows[k]));
    return sum;
  });
}

/// The elements at p, p + stride, ...
struct OneByOne {
  static Vec load_from(const float* p, std::size_t) { return load(p); }
};
struct EverySecond {
  static Vec load_from(const float* p, std::size_t) { return load_even(p); }
};
struct EveryFew {
  static Vec load_from(const float* p, std::size_t stride) {
    float lanes[Vec::kLanes];
    for (std::size_t i = 0; i < Vec::kLanes; ++i) lanes[i] = p[i * stride];
    return load(lanes);
  }
};

/// Writes what the sums of a row are multiplied by.
inline void find_scales(const LinesArgs& a, float row_count, float* scales) {
  for (std::size_t x = 0; x < a.width_out; x += Vec::kLanes) {
    const std::size_t left = a.width_out - x, n = left < Vec::kLanes ? left : Vec::kLanes;
    store(scales + x, broadcast(1.0f) / (broadcast(row_count) * load_first(a.column_counts + x, n)));
  }
}

/// Windows of N elements, of any number where that is 0.
template <class Op, class Steps, std::size_t N>
inline void fold_line(const LinesArgs& a, const float* line, const float* scales, float* out) {
  const std::size_t window = N == 0 ? a.kernel_w : N;
  for (std::size_t x = 0; x < a.width_out; x += Vec::kLanes) {
    const float* const in = line + x * a.stride_w;
    Vec sum = Op::start();
#pragma GCC unroll 4
    for (std::size_t k = 0; k < window; ++k) sum = Op::add(sum, Steps::load_from(in + k * a.dilation_w, a.stride_w));
    if (scales != nullptr) sum = sum * load(scales + x);
    const std::size_t left = a.width_out - x;
    if (left >= Vec::kLanes)
      store(out + x, sum);
    else
      store_first(out + x, sum, left);
  }
}

template <class Op, class Steps>
inline void fold_lines(const LinesArgs& a, const float* lines, std::size_t stride, float* scales) {
  for (std::size_t row = 0; row < a.rows; ++row) {
    if (a.kind == Kind::average && (row == 0 || a.row_counts[row] != a.row_counts[row - 1]))
      find_scales(a, a.row_counts[row], scales);
    const float* const line = lines + row * stride;
    const float* const by = a.kind == Kind::average ? scales : nullptr;
    float* const out = a.out + row * a.width_out;
    if (a.kernel_w == 2)
      fold_line<Op, Steps, 2>(a, line, by, out);
    else if (a.kernel_w == 3)
      fold_line<Op, Steps, 3>(a, line, by, out);
    else
      fold_line<Op, Steps, 0>(a, line, by, out);
  }
}

/// Lines of all rows first: what was stored just now is slow to read at other places.
template <class Op>
inline void pool_lines(const LinesArgs& a) {
  const std::size_t stride = line_floats(a);
  float* const scales = a.workspace;
  float* const lines = a.workspace + a.width_out + kMostLanes;
  for (std::size_t row = 0; row < a.rows; ++row) {
    float* const line = lines + row * stride;
    if (a.fresh) {
      fill(line, line + a.pad_left, Op::start());
      fill(line + a.pad_left + a.width_in, line + stride, Op::start());
    }
    fold_rows<Op>(a, a.in_rows + row * a.kernel_h, line);
  }
  if (a.stride_w == 1)
    fold_lines<Op, OneByOne>(a, lines, stride, scales);
  else if (a.stride_w == 2)
    fold_lines<Op, EverySecond>(a, lines, stride, scales);
  else
    fold_lines<Op, EveryFew>(a, lines, stride, scales);
}

inline void run_lines(const LinesArgs& a) noexcept { a.kind == Kind::max ? pool_lines<Max>(a) : pool_lines<Sum>(a); }

}  // namespace
}  // namespace colonnade::kernels::pool
