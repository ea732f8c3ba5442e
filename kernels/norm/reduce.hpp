// SPDX-License-Identifier: Apache-2.0
// Reductions: what becomes of each value, how values are folded, and what is made of the result.
#pragma once

#include "kernels/norm/generic.hpp"
#include "kernels/norm/lanes.hpp"

namespace colonnade::kernels::norm {
namespace {

// NaN is the result once it is met.
inline constexpr auto kLarger = [](Vec a, Vec b) { return select(is_nan(a), a, max(a, b)); };
inline constexpr auto kSmaller = [](Vec a, Vec b) { return select(is_nan(a), a, min(a, b)); };
inline constexpr auto kProduct = [](Vec a, Vec b) { return a * b; };

struct SquaresOf {
  template <int V>
  SquaresOf from(std::size_t, std::size_t) const {
    return {};
  }
  Vec operator()(Vec x, int) const { return x * x; }
};
struct Magnitudes {
  template <int V>
  Magnitudes from(std::size_t, std::size_t) const {
    return {};
  }
  Vec operator()(Vec x, int) const { return abs(x); }
};

/// A line of single values: lanes hold those of neighbouring pixels, folded.
template <class At, class Fold>
inline __attribute__((always_inline)) Vec fold_line(const float* in, std::size_t pixels, std::ptrdiff_t stride,
                                                    Vec start, At at, Fold fold) {
  if (stride == 1)
    return fold_values(
        pixels, start, [&](std::size_t p, std::size_t n) { return at(get_some(in + p, n), 0); }, fold);
  const auto gathered = [&](std::size_t p, std::size_t n) {
    float lanes[kLanes] = {};
    for (std::size_t i = 0; i < n; ++i) lanes[i] = in[static_cast<std::ptrdiff_t>(p + i) * stride];
    return at(get_some(lanes, n), 0);
  };
  return fold_values(pixels, start, gathered, fold);
}

template <class At, class Fold, class Finish>
inline void reduce_lines(const ReduceArgs& a, Vec start, At at, Fold fold, Finish finish) {
  const float* in = a.in;
  for (std::size_t line = 0; line < a.lines; line += kLanes) {
    const std::size_t n = a.lines - line < kLanes ? a.lines - line : kLanes;
    Vec folded[kLanes];
    for (std::size_t i = 0; i < n; ++i, in += a.in_line_stride)
      folded[i] = fold_line(in, a.pixels, a.in_pixel_stride, start, at, fold);
    for (std::size_t i = n; i < kLanes; ++i) folded[i] = folded[0];
    put_some(a.out + line, finish(fold_vectors<1>(folded, fold)), n);
  }
}

template <class At, class Fold, class Finish>
inline void reduce(const ReduceArgs& a, float start, At at, Fold fold, Finish finish) {
  if (a.channels == 1) return reduce_lines(a, broadcast(start), at, fold, finish);
  for (std::size_t line = 0; line < a.lines; ++line)
    fold_image(a.pixels, a.channels, a.in + static_cast<std::ptrdiff_t>(line) * a.in_line_stride, a.in_pixel_stride,
               a.out + line * a.channels, broadcast(start), at, fold, finish);
}

/// x - shift, where the exponentials of all are at most one; the shift of what is infinite is zero.
inline Vec finite_or_zero(Vec x) { return select(less(abs(x), broadcast(__builtin_inff())), x, zero()); }

inline void log_sum_exp_line(const ReduceArgs& a, std::size_t line) {
  const Vec lowest = broadcast(-__builtin_inff());
  const float* in = a.in + static_cast<std::ptrdiff_t>(line) * a.in_line_stride;
  const Vec top =
      finite_or_zero(fold_vector(fold_line(in, a.pixels, a.in_pixel_stride, lowest, Values{}, kLarger), kLarger));
  const Vec sum = fold_line(
      in, a.pixels, a.in_pixel_stride, zero(), [top](Vec x, int) { return exp(x - top); }, kAdd);
  store_first(a.out + line, log(fold_vector(sum, kAdd)) + top, 1);
}

inline void log_sum_exp_image(const ReduceArgs& a, const float* in, float* out) {
  for (std::size_t c = 0; c < a.channels; c += kLanes) {
    const std::size_t n = a.channels - c < kLanes ? a.channels - c : kLanes;
    Vec top = zero();
    fold_pixels<1>(a.pixels, in + c, a.in_pixel_stride, n, broadcast(-__builtin_inff()), Values{}, kLarger,
                   [&top](Vec x, int) { top = finite_or_zero(x); });
    fold_pixels<1>(
        a.pixels, in + c, a.in_pixel_stride, n, zero(), [top](Vec x, int) { return exp(x - top); }, kAdd,
        [&](Vec sum, int) { put_some(out + c, log(sum) + top, n); });
  }
}

inline void log_sum_exp(const ReduceArgs& a) {
  for (std::size_t line = 0; line < a.lines; ++line) {
    if (a.channels == 1)
      log_sum_exp_line(a, line);
    else
      log_sum_exp_image(a, a.in + static_cast<std::ptrdiff_t>(line) * a.in_line_stride, a.out + line * a.channels);
  }
}

inline void run_reduce(const ReduceArgs& a) noexcept {
  const float inf = __builtin_inff();
  const Vec share = broadcast(1.0f / static_cast<float>(a.pixels));
  const auto as_it_is = [](Vec x) { return x; };
  switch (a.op) {
    case Reduction::sum: return reduce(a, 0.0f, Values{}, kAdd, as_it_is);
    case Reduction::mean: return reduce(a, 0.0f, Values{}, kAdd, [share](Vec x) { return x * share; });
    case Reduction::max: return reduce(a, -inf, Values{}, kLarger, as_it_is);
    case Reduction::min: return reduce(a, inf, Values{}, kSmaller, as_it_is);
    case Reduction::prod: return reduce(a, 1.0f, Values{}, kProduct, as_it_is);
    case Reduction::l1: return reduce(a, 0.0f, Magnitudes{}, kAdd, as_it_is);
    case Reduction::l2: return reduce(a, 0.0f, SquaresOf{}, kAdd, [](Vec x) { return sqrt(x); });
    case Reduction::log_sum: return reduce(a, 0.0f, Values{}, kAdd, [](Vec x) { return log(x); });
    case Reduction::log_sum_exp: return log_sum_exp(a);
    case Reduction::sum_square: return reduce(a, 0.0f, SquaresOf{}, kAdd, as_it_is);
  }
}

/// In chains that do not wait for each other. What is not a number is passed by, and held apart.
inline void run_range(const RangeArgs& a) noexcept {
  constexpr std::size_t kChains = 4;
  Vec least[kChains], most[kChains], odd[kChains];
  for (std::size_t c = 0; c < kChains; ++c) least[c] = most[c] = odd[c] = zero();
  const auto take = [&](std::size_t c, Vec x) __attribute__((always_inline)) {
    least[c] = min(x, least[c]);
    most[c] = max(x, most[c]);
    odd[c] = select(is_nan(x), x, odd[c]);
  };
  std::size_t i = 0;
  for (; i + kChains * kLanes <= a.count; i += kChains * kLanes) {
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kChains; ++c) take(c, load(a.in + i + c * kLanes));
  }
  for (; i < a.count; i += kLanes) take(0, get_some(a.in + i, a.count - i < kLanes ? a.count - i : kLanes));
  for (std::size_t c = 1; c < kChains; ++c) {
    least[0] = min(least[c], least[0]);
    most[0] = max(most[c], most[0]);
    odd[0] = odd[0] + odd[c];
  }
  const Vec none = fold_vector(odd[0], kAdd);
  store_first(a.least, fold_vector(least[0], kSmaller) + none, 1);
  store_first(a.most, fold_vector(most[0], kLarger) + none, 1);
}

}  // namespace
}  // namespace colonnade::kernels::norm
