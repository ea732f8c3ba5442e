// SPDX-License-Identifier: Apache-2.0
// Norms of lines that lie across each other, a vector of lines at a time, and of single lines.
#pragma once

#include "kernels/norm/generic.hpp"

namespace colonnade::kernels::norm {
namespace {

/// V vectors of lines; n lanes of one where V is 1.
template <int V>
inline __attribute__((always_inline)) void softmax_lines(const SoftmaxAcrossArgs& a, std::size_t first, std::size_t n) {
  const float* in = a.in + first;
  float* out = a.out + first;
  const auto each = [&a](auto&& visit) {
    for (std::size_t i = 0; i < a.size; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v)
        visit(static_cast<std::ptrdiff_t>(i) * a.stride + v * static_cast<std::ptrdiff_t>(kLanes), v);
    }
  };
  Vec top[V], sum[V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) top[v] = broadcast(-__builtin_inff()), sum[v] = zero();
  each([&](std::ptrdiff_t at, int v) { top[v] = max(top[v], get_some(in + at, n)); });
  each([&](std::ptrdiff_t at, int v) {
    const Vec e = exp_of_negative(get_some(in + at, n) - top[v]);
    if (!a.log) put_some(out + at, e, n);
    sum[v] = sum[v] + e;
  });
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) sum[v] = a.log ? log(sum[v]) : broadcast(1.0f) / sum[v];
  if (a.log)
    each([&](std::ptrdiff_t at, int v) { put_some(out + at, (get_some(in + at, n) - top[v]) - sum[v], n); });
  else
    each([&](std::ptrdiff_t at, int v) { put_some(out + at, get_some(out + at, n) * sum[v], n); });
}

inline void run_softmax_across(const SoftmaxAcrossArgs& a) noexcept {
  std::size_t k = 0;
  for (; k + 4 * kLanes <= a.count; k += 4 * kLanes) softmax_lines<4>(a, k, kLanes);
  for (; k < a.count; k += kLanes) softmax_lines<1>(a, k, a.count - k < kLanes ? a.count - k : kLanes);
}

/// Sums block by block, so that errors grow with the number of blocks.
template <class At>
inline double sum_line(std::size_t count, At at) {
  constexpr std::size_t kLineBlock = 4096;
  double total = 0;
  for (std::size_t begin = 0; begin < count; begin += kLineBlock) {
    const std::size_t size = count - begin < kLineBlock ? count - begin : kLineBlock;
    total += static_cast<double>(sum_channels(size, [&](std::size_t i, std::size_t n) { return at(begin + i, n); }));
  }
  return total;
}

inline void run_line_norm(const LineNormArgs& a) noexcept {
  const auto count = static_cast<double>(a.count);
  const float mean = static_cast<float>(
      sum_line(a.count, [&a](std::size_t i, std::size_t n) { return get_some(a.in + i, n); }) / count);
  const Vec center = broadcast(mean);
  const auto square = [&](std::size_t i, std::size_t n) {
    const Vec d = get_some(a.in + i, n) - center;
    return d * d;
  };
  const float variance = static_cast<float>(sum_line(a.count, square) / count);
  const Vec factor = broadcast(a.scale / __builtin_sqrtf(variance + a.epsilon)), bias = broadcast(a.bias);
  map_channels(a.count, a.in, a.out, [&](Vec x, std::size_t, std::size_t) { return fma(x - center, factor, bias); });
}

}  // namespace
}  // namespace colonnade::kernels::norm
