// SPDX-License-Identifier: Apache-2.0
// Whether two tensors are equal enough.
#pragma once

#include <cstdint>
#include <string>

#include "colonnade/colonnade.hpp"

namespace colonnade::cli {

/// |difference| <= absolute * max|expected| + relative * |expected|, or subnormal.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

/// What a type deserves; zero for integers, booleans and strings.
Tolerance tolerance_of(DType dtype, Math math);

struct Comparison {
  bool equal = false;
  double largest_difference = 0;  ///< over finite elements
  double mean_difference = 0;
  double largest_share = 0;  ///< of the tolerance used up; above 1 is a failure
  std::int64_t wrong_elements = 0;
  std::string mismatch;  ///< type, shape or first wrong element; empty when equal
};

/// NaN equals NaN, infinities equal themselves. The maximum is taken over finite expected elements.
Comparison compare(const Tensor& found, const Tensor& expected, Tolerance tolerance);

/// Type, shape and every bit.
bool identical(const Tensor& a, const Tensor& b);

}  // namespace colonnade::cli
