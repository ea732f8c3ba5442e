// SPDX-License-Identifier: Apache-2.0
// Folds of a line of floats into one vector, and vectors of which the last holds fewer.
// As simd.hpp, everything lives in an anonymous namespace and is compiled once per tier.
#pragma once

#include <cstddef>

#include "kernels/base/simd.hpp"

namespace colonnade::kernels {
namespace {

/// A vector, or its first n elements where it is the last one, Tail.
template <bool Tail>
inline Vec get(const float* p, std::size_t n) {
  if constexpr (Tail)
    return load_first(p, n);
  else
    return load(p);
}

inline Vec get_some(const float* p, std::size_t n) { return n == Vec::kLanes ? load(p) : load_first(p, n); }
inline void put_some(float* p, Vec x, std::size_t n) {
  if (n == Vec::kLanes)
    store(p, x);
  else
    store_first(p, x, n);
}

/// Folds at(i, n) over a line: n values from i on, n = Vec::kLanes or the number left at the end (where the lanes from
/// n on hold `start`). Folds run in four vectors, folded pairwise at the end: an order that depends on the count only.
template <class At, class Fold>
inline __attribute__((always_inline)) Vec fold_values(std::size_t count, Vec start, At at, Fold fold) {
  constexpr std::size_t kLanes = Vec::kLanes;
  Vec first = start, second = start, third = start, fourth = start;  // an array of them would lie in memory
  std::size_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    first = fold(first, at(i, kLanes));
    second = fold(second, at(i + kLanes, kLanes));
    third = fold(third, at(i + 2 * kLanes, kLanes));
    fourth = fold(fourth, at(i + 3 * kLanes, kLanes));
  }
  const auto fold_next = [&](Vec & sum) __attribute__((always_inline)) {
    if (i >= count) return;
    const std::size_t n = count - i < kLanes ? count - i : kLanes;
    const Vec x = at(i, n);
    sum = fold(sum, n < kLanes ? keep_first(x, n, start) : x);
    i += kLanes;
  };
  fold_next(first);
  fold_next(second);
  fold_next(third);
  fold_next(fourth);
  return fold(fold(first, second), fold(third, fourth));
}

}  // namespace
}  // namespace colonnade::kernels
