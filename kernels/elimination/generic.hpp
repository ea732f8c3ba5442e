// SPDX-License-Identifier: Apache-2.0
// The upper triangle is made in place; below it stand the factors by which rows were subtracted.
#pragma once

#include "kernels/elimination/elimination.hpp"

namespace colonnade::kernels::elimination {
namespace {

/// Columns that are eliminated together.
inline constexpr std::size_t kTogether = 8;

/// row[j] -= factors[c] * rows[c][j] for `Count` rows, in their order, and j in [begin, end).
template <std::size_t Count>
inline void subtract_some(double* __restrict row, const double* factors, const double* __restrict rows,
                          std::size_t width, std::size_t begin, std::size_t end) {
  double f[Count];
  for (std::size_t c = 0; c < Count; ++c) f[c] = factors[c];
  for (std::size_t j = begin; j < end; ++j) {
    double left = row[j];
#pragma GCC unroll 8
    for (std::size_t c = 0; c < Count; ++c) left -= f[c] * rows[c * width + j];
    row[j] = left;
  }
}

inline void subtract(double* row, const double* factors, const double* rows, std::size_t width, std::size_t count,
                     std::size_t begin, std::size_t end) {
  for (; count >= kTogether; count -= kTogether, factors += kTogether, rows += kTogether * width)
    subtract_some<kTogether>(row, factors, rows, width, begin, end);
  for (; count > 0; --count, ++factors, rows += width) subtract_some<1>(row, factors, rows, width, begin, end);
}

inline double magnitude(double x) { return __builtin_fabs(x); }

/// Brings the pivot of column k to row k; true where rows changed places.
inline bool bring_pivot(const Args& a, std::size_t k) {
  std::size_t pivot = k;
  for (std::size_t row = k + 1; row < a.n; ++row)
    if (magnitude(a.rows[row * a.width + k]) > magnitude(a.rows[pivot * a.width + k])) pivot = row;
  if (pivot == k) return false;
  double* __restrict one = a.rows + k * a.width;
  double* __restrict other = a.rows + pivot * a.width;
  for (std::size_t j = 0; j < a.width; ++j) {
    const double x = one[j];
    one[j] = other[j];
    other[j] = x;
  }
  return true;
}

struct Triangle {
  double determinant = 1;
  bool is_regular = true;  ///< no pivot is zero, infinite or NaN
};

/// Eliminates columns [begin, end) in themselves; false at a pivot of zero.
inline bool eliminate_together(const Args& a, std::size_t begin, std::size_t end, Triangle& made) {
  for (std::size_t k = begin; k < end; ++k) {
    if (bring_pivot(a, k)) made.determinant = -made.determinant;
    const double* const of_pivot = a.rows + k * a.width;
    const double pivot = of_pivot[k];
    made.determinant *= pivot;
    made.is_regular = made.is_regular && pivot != 0 && magnitude(pivot) <= __DBL_MAX__;
    if (pivot == 0) {
      made.determinant = 0;
      return false;
    }
    for (std::size_t row = k + 1; row < a.n; ++row) {
      double* const at = a.rows + row * a.width;
      at[k] /= pivot;
      for (std::size_t j = k + 1; j < end; ++j) at[j] -= at[k] * of_pivot[j];
    }
  }
  return true;
}

/// The upper triangle of the matrix; not to the end where a pivot is zero, as the determinant then is.
inline Triangle eliminate(const Args& a) {
  Triangle made;
  for (std::size_t begin = 0; begin < a.n; begin += kTogether) {
    const std::size_t end = a.n - begin < kTogether ? a.n : begin + kTogether;
    if (!eliminate_together(a, begin, end, made)) break;
    const double* const pivots = a.rows + begin * a.width;
    for (std::size_t row = begin + 1; row < a.n; ++row) {
      double* const at = a.rows + row * a.width;
      const std::size_t count = (row < end ? row : end) - begin;
      subtract(at, at + begin, pivots, a.width, count, end, a.width);
    }
  }
  return made;
}

inline double run_determinant(const Args& args) noexcept { return eliminate(args).determinant; }

/// From the last row up: what is right of the matrix less what the solved rows below make of it, over the pivot.
inline bool run_solve(const Args& a) noexcept {
  if (!eliminate(a).is_regular) return false;
  for (std::size_t row = a.n; row-- > 0;) {
    double* const at = a.rows + row * a.width;
    const double pivot = at[row];
    subtract(at, at + row + 1, at + a.width, a.width, a.n - row - 1, a.n, a.width);
    for (std::size_t j = a.n; j < a.width; ++j) at[j] /= pivot;
  }
  return true;
}

}  // namespace
}  // namespace colonnade::kernels::elimination
