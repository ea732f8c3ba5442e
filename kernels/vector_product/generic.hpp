// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/simd.hpp"
#include "kernels/vector_product/vector_product.hpp"

namespace colonnade::kernels::vector_product {
namespace {

inline float start_of(const Args& args, std::size_t n) { return args.bias != nullptr ? args.bias[n] : 0.0f; }

/// `Count` rows of the matrix times one vector.
template <std::size_t Count>
[[gnu::always_inline]] inline void dot_rows(const Args& args, const float* vector, std::size_t n, float* out) {
  const float* row[Count];
  Vec sums[Count];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < Count; ++i) {
    row[i] = args.matrix + static_cast<std::ptrdiff_t>(n + i) * args.matrix_stride;
    sums[i] = zero();
  }
  std::size_t k = 0;
  for (; k + Vec::kLanes <= args.k; k += Vec::kLanes) {
    const Vec x = load(vector + k);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Count; ++i) sums[i] = fma(x, load(row[i] + k), sums[i]);
  }
  if (const std::size_t rest = args.k - k; rest > 0) {
    const Vec x = load_first(vector + k, rest);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Count; ++i) sums[i] = fma(x, load_first(row[i] + k, rest), sums[i]);
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < Count; ++i)
    out[static_cast<std::ptrdiff_t>(n + i) * args.out_stride] = start_of(args, n + i) + sum_lanes(sums[i]);
}

/// All vectors meet some rows of the matrix before the next ones: those are in the nearest cache then.
inline void by_rows(const Args& args) noexcept {
  constexpr std::size_t kTogether = 4;
  std::size_t n = 0;
  for (; n + kTogether <= args.n; n += kTogether)
    for (std::size_t v = 0; v < args.vectors_count; ++v)
      dot_rows<kTogether>(args, args.vectors + static_cast<std::ptrdiff_t>(v) * args.vector_stride, n,
                          args.out + static_cast<std::ptrdiff_t>(v) * args.out_vector_stride);
  for (; n < args.n; ++n)
    for (std::size_t v = 0; v < args.vectors_count; ++v)
      dot_rows<1>(args, args.vectors + static_cast<std::ptrdiff_t>(v) * args.vector_stride, n,
                  args.out + static_cast<std::ptrdiff_t>(v) * args.out_vector_stride);
}

inline void store_apart(float* out, std::ptrdiff_t stride, Vec x, std::size_t count) {
  if (stride == 1) return store_first(out, x, count);
  float values[Vec::kLanes];
  store(values, x);
  for (std::size_t i = 0; i < count; ++i) out[static_cast<std::ptrdiff_t>(i) * stride] = values[i];
}

/// `Count` vectors of columns, the last one of `lanes`.
template <std::size_t Count>
[[gnu::always_inline]] inline void sum_columns(const Args& args, const float* vector, std::size_t n, std::size_t lanes,
                                               float* out) {
  const auto some = [&](const float* p, std::size_t i) {
    return i + 1 < Count || lanes == Vec::kLanes ? load(p) : load_first(p, lanes);
  };
  Vec sums[Count];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < Count; ++i)
    sums[i] = args.bias != nullptr ? some(args.bias + n + i * Vec::kLanes, i) : zero();
  const float* row = args.matrix + n;
  for (std::size_t k = 0; k < args.k; ++k, row += args.matrix_stride) {
    const Vec x = broadcast(vector[k]);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Count; ++i) sums[i] = fma(x, some(row + i * Vec::kLanes, i), sums[i]);
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < Count; ++i)
    store_apart(out + static_cast<std::ptrdiff_t>(n + i * Vec::kLanes) * args.out_stride, args.out_stride, sums[i],
                i + 1 < Count ? Vec::kLanes : lanes);
}

inline void by_columns(const Args& args) noexcept {
  constexpr std::size_t kTogether = 8, kLanes = Vec::kLanes;
  for (std::size_t n = 0; n < args.n;) {
    const std::size_t left = args.n - n;
    const bool many = left >= kTogether * kLanes;
    const std::size_t lanes = many || left >= kLanes ? kLanes : left;
    for (std::size_t v = 0; v < args.vectors_count; ++v) {
      const float* vector = args.vectors + static_cast<std::ptrdiff_t>(v) * args.vector_stride;
      float* out = args.out + static_cast<std::ptrdiff_t>(v) * args.out_vector_stride;
      if (many)
        sum_columns<kTogether>(args, vector, n, kLanes, out);
      else
        sum_columns<1>(args, vector, n, lanes, out);
    }
    n += many ? kTogether * kLanes : lanes;
  }
}

}  // namespace
}  // namespace colonnade::kernels::vector_product
