// SPDX-License-Identifier: Apache-2.0
#include "reference/families.hpp"

namespace colonnade::reference {
namespace {

template <class C>
void one_row(const C* x, std::int64_t depth, const C* weights, std::int64_t columns, C* __restrict sums) {
  for (std::int64_t c = 0; c < depth; ++c) {
    const C* w = weights + c * columns;
    const C value = x[c];
    for (std::int64_t o = 0; o < columns; ++o) sums[o] += value * w[o];
  }
}

// Four rows share each weight that is read, so that large weights cost a quarter of the traffic.
template <class C>
void four_rows(const C* const* x, std::int64_t depth, const C* weights, std::int64_t columns, C* sums,
               std::int64_t stride) {
  C* __restrict s0 = sums;
  C* __restrict s1 = sums + stride;
  C* __restrict s2 = sums + 2 * stride;
  C* __restrict s3 = sums + 3 * stride;
  for (std::int64_t c = 0; c < depth; ++c) {
    const C* w = weights + c * columns;
    const C x0 = x[0][c], x1 = x[1][c], x2 = x[2][c], x3 = x[3][c];
    for (std::int64_t o = 0; o < columns; ++o) {
      s0[o] += x0 * w[o];
      s1[o] += x1 * w[o];
      s2[o] += x2 * w[o];
      s3[o] += x3 * w[o];
    }
  }
}

}  // namespace

template <class C>
void multiply_add(std::span<const C* const> x, std::int64_t depth, const C* weights, std::int64_t columns, C* sums,
                  std::int64_t sums_stride) {
  if (x.size() == 4 && x[0] != nullptr && x[1] != nullptr && x[2] != nullptr && x[3] != nullptr) {
    four_rows(x.data(), depth, weights, columns, sums, sums_stride);
    return;
  }
  for (std::size_t p = 0; p < x.size(); ++p) {
    if (x[p] != nullptr) one_row(x[p], depth, weights, columns, sums + static_cast<std::int64_t>(p) * sums_stride);
  }
}

template void multiply_add<double>(std::span<const double* const>, std::int64_t, const double*, std::int64_t, double*,
                                   std::int64_t);
template void multiply_add<std::uint64_t>(std::span<const std::uint64_t* const>, std::int64_t, const std::uint64_t*,
                                          std::int64_t, std::uint64_t*, std::int64_t);

}  // namespace colonnade::reference
