// SPDX-License-Identifier: Apache-2.0
// Few vectors times a matrix that is read once, where it lies: fp32. Every sum is one chain of its own, whatever is
// computed beside it.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::vector_product {

/// out[v][n] = bias[n] + sum over k of vectors[v][k] * matrix[n][k], or matrix[k][n]. Strides count floats; nothing may
/// overlap, but that one vector's bias may be its out, nothing is read or written outside.
struct Args {
  std::size_t vectors_count = 0;
  std::size_t k = 0;
  std::size_t n = 0;
  const float* vectors = nullptr;
  std::ptrdiff_t vector_stride = 0;
  const float* matrix = nullptr;
  std::ptrdiff_t matrix_stride = 0;  ///< from one of its rows to the next
  const float* bias = nullptr;       ///< n floats, or null for zero
  float* out = nullptr;
  std::ptrdiff_t out_vector_stride = 0;
  std::ptrdiff_t out_stride = 1;
};

struct Kernel {
  const char* name;
  Isa isa;
  void (*by_rows)(const Args&) noexcept;     ///< matrix [n][k]: partial sums in the lanes of a vector
  void (*by_columns)(const Args&) noexcept;  ///< matrix [k][n]: in the order of k
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::vector_product
