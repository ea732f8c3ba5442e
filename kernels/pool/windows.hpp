// SPDX-License-Identifier: Apache-2.0
// What windows fold, and which of their columns exist.
#pragma once

#include "kernels/base/fold.hpp"
#include "kernels/base/simd.hpp"
#include "kernels/pool/pool.hpp"

namespace colonnade::kernels::pool {
namespace {

struct Max {
  static Vec start() { return broadcast(-__builtin_inff()); }
  static Vec add(Vec sum, Vec x) { return max(x, sum); }
};
struct Sum {
  static Vec start() { return zero(); }
  static Vec add(Vec sum, Vec x) { return sum + x; }
};

/// The taps of one output pixel: input rows, and the pixels [begin, end) of the kernel's columns that exist.
struct Window {
  const float* const* rows;
  std::ptrdiff_t first;
  std::size_t begin;
  std::size_t end;
};

inline Window window_of(const Args& a, std::size_t row, std::size_t x) {
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(x * a.stride_w) - static_cast<std::ptrdiff_t>(a.pad_left);
  const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(a.dilation_w);
  const std::ptrdiff_t width = static_cast<std::ptrdiff_t>(a.width_in);
  // walking to them would take as long as the window is, however little of it lies in the row
  std::ptrdiff_t begin = 0;
  std::ptrdiff_t end = static_cast<std::ptrdiff_t>(a.kernel_w);
  if (first + (end - 1) * step >= width) end = first < width ? (width - first + step - 1) / step : 0;
  if (first < 0) begin = (-first + step - 1) / step;
  if (begin > end) begin = end;
  return {a.in_rows + row * a.kernel_h, first, static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

/// Output pixels [begin, end) of a row.
struct Pixels {
  std::size_t begin;
  std::size_t end;
};

/// The pixels of a row whose columns all exist.
inline Pixels whole_pixels(const Args& a) {
  const std::size_t last_tap = (a.kernel_w - 1) * a.dilation_w, width = a.width_in + a.pad_left;
  const std::size_t begin = (a.pad_left + a.stride_w - 1) / a.stride_w;
  const std::size_t fitting = width > last_tap ? (width - last_tap - 1) / a.stride_w + 1 : 0;
  const std::size_t end = fitting < a.width_out ? fitting : a.width_out;
  return {begin < end ? begin : end, end};
}

}  // namespace
}  // namespace colonnade::kernels::pool
