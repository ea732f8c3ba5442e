// SPDX-License-Identifier: Apache-2.0
// Softmax of rows of scores, some rows together: each stage ends in a maximum or sum across lanes, whose steps wait for
// each other.
#pragma once

#include "kernels/attention/attention.hpp"
#include "kernels/base/fold.hpp"
#include "kernels/base/vector_math.hpp"

namespace colonnade::kernels::attention {
namespace {

inline constexpr std::size_t kLanes = Vec::kLanes;

template <std::size_t N, int kAddends, bool kCaps>
inline void shares_of_rows(const SharesArgs& a, std::size_t row) {
  const auto line = [&](std::size_t i) { return a.scores + static_cast<std::ptrdiff_t>(row + i) * a.stride; };
  const auto addend = [&](std::size_t which, std::size_t i) {
    return a.addends[which] + static_cast<std::ptrdiff_t>(row + i) * a.addend_strides[which];
  };
  const Vec scale = broadcast(kCaps ? a.cap : a.scale), inner = broadcast(kCaps ? a.scale / a.cap : 1),
            lowest = broadcast(-__builtin_inff());
  float largest[N];
  for (std::size_t i = 0; i < N; ++i) {
    float* scores = line(i);
    const float* first = kAddends > 0 ? addend(0, i) : nullptr;
    const float* second = kAddends > 1 ? addend(1, i) : nullptr;
    largest[i] = max_lanes(fold_values(
        a.keys, lowest,
        [&](std::size_t key, std::size_t n) {
          Vec x = get_some(scores + key, n);
          if constexpr (kCaps) x = tanh(x * inner);
          x = kAddends == 0 ? x * scale : fma(x, scale, get_some(first + key, n));
          if constexpr (kAddends > 1) x = x + get_some(second + key, n);
          put_some(scores + key, x, n);
          return x;
        },
        [](Vec x, Vec y) { return max(x, y); }));
  }
  for (std::size_t i = 0; i < N; ++i) {
    float* scores = line(i);
    const Vec top = broadcast(largest[i]);
    a.sums[row + i] = sum_lanes(fold_values(
        a.keys, zero(),
        [&](std::size_t key, std::size_t n) {
          const Vec e = exp_of_negative(get_some(scores + key, n) - top);
          put_some(scores + key, e, n);
          return e;
        },
        [](Vec x, Vec y) { return x + y; }));
  }
}

template <int kAddends, bool kCaps>
inline void shares_of_all(const SharesArgs& a) {
  constexpr std::size_t kTogether = 4;
  std::size_t row = 0;
  for (; row + kTogether <= a.rows; row += kTogether) shares_of_rows<kTogether, kAddends, kCaps>(a, row);
  for (; row < a.rows; ++row) shares_of_rows<1, kAddends, kCaps>(a, row);
}

template <bool kCaps>
inline void shares_with_addends(const SharesArgs& a) {
  if (a.addends[1] != nullptr) return shares_of_all<2, kCaps>(a);
  if (a.addends[0] != nullptr) return shares_of_all<1, kCaps>(a);
  shares_of_all<0, kCaps>(a);
}

inline void run_shares(const SharesArgs& a) noexcept {
  if (a.cap != 0) return shares_with_addends<true>(a);
  shares_with_addends<false>(a);
}

inline void run_divide(const DivideArgs& a) noexcept {
  float* out = a.out;
  for (std::size_t row = 0; row < a.rows; ++row, out += a.stride) {
    const Vec factor = broadcast(1.0f / a.sums[row]);
    for (std::size_t c = 0; c < a.columns; c += kLanes) {
      const std::size_t n = a.columns - c < kLanes ? a.columns - c : kLanes;
      put_some(out + c, get_some(out + c, n) * factor, n);
    }
  }
}

}  // namespace
}  // namespace colonnade::kernels::attention
