// SPDX-License-Identifier: Apache-2.0
// Folds the lanes of vectors by any function, halves on each other until one is left: those of one vector, or those of
// as many vectors as there are lanes, which takes as many steps.
#pragma once

#include "kernels/base/lookup.hpp"

namespace colonnade::kernels::norm {
namespace {

/// Which lanes of two vectors, both in blocks of 2 * half, are folded: each block's lower half, or its upper one.
template <int kHalf, bool kUpper>
struct HalfLanes {
  std::int32_t at[Vec::kLanes] = {};
  constexpr HalfLanes() {
    for (int i = 0; i < static_cast<int>(Vec::kLanes); ++i)
      at[i] = i / kHalf * 2 * kHalf + i % kHalf + (kUpper ? kHalf : 0);
  }
};
template <int kHalf, bool kUpper>
inline constexpr HalfLanes<kHalf, kUpper> kHalfLanes;

template <int kHalf, class Fold>
inline Vec fold_halves(Vec a, Vec b, Fold fold) {
  return fold(lookup(a, b, kHalfLanes<kHalf, false>.at), lookup(a, b, kHalfLanes<kHalf, true>.at));
}

/// Lane i is what vector i of kLanes is folded to.
template <int kHalf, class Fold>
inline __attribute__((always_inline)) Vec fold_vectors(const Vec* vectors, Fold fold) {
  if constexpr (kHalf == static_cast<int>(Vec::kLanes)) {
    return *vectors;
  } else {
    constexpr int kVectors = static_cast<int>(Vec::kLanes) / kHalf / 2;
    return fold_halves<kHalf>(fold_vectors<2 * kHalf>(vectors, fold), fold_vectors<2 * kHalf>(vectors + kVectors, fold),
                              fold);
  }
}

/// What one vector is folded to, in every lane.
template <int kHalf = Vec::kLanes / 2, class Fold>
inline Vec fold_vector(Vec x, Fold fold) {
  const Vec folded = fold_halves<kHalf>(x, x, fold);
  if constexpr (kHalf > 1)
    return fold_vector<kHalf / 2>(folded, fold);
  else
    return folded;
}

}  // namespace
}  // namespace colonnade::kernels::norm
