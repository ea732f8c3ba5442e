// SPDX-License-Identifier: Apache-2.0
// Determinants and inverses by Gauss's elimination. The pivot is the largest of its column, of equal ones the first
// (partial pivoting; Golub and Van Loan, Matrix Computations, 3.4). Eight columns are eliminated before the others meet
// them, so that each pass over the matrix does eight columns' work.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::elimination {

/// n rows of `width` >= n doubles, one behind the other: a matrix, and what stands to its right. Both are overwritten.
struct Args {
  double* rows = nullptr;
  std::size_t n = 0;
  std::size_t width = 0;
};

struct Kernel {
  const char* name;
  Isa isa;
  /// That of the matrix.
  double (*determinant)(const Args&) noexcept;
  /// What stands to its right becomes the inverse times it. False: a pivot is zero, infinite or NaN.
  bool (*solve)(const Args&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::elimination
