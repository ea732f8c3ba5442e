// SPDX-License-Identifier: Apache-2.0
// Where the matrices of a product's operands and of its result lie.
#pragma once

#include "families/family.hpp"

namespace colonnade {

/// A matrix or the result lies otherwise than row after row.
bool has_heads_inside(const MatMul& op);
/// A constant right matrix that family `matmul` multiplies by rows.
bool is_by_rows(const Subject& product);

/// The result's shape with its rows and columns last: those of heads lie elsewhere.
Shape logical_output(const Subject& product);
/// Terms of a sum.
std::int64_t depth_of(const Subject& product);

/// The matrices of a value for a batch of given sizes.
struct Matrices {
  Ints strides;          ///< by axis of the batch; 0: the same for all
  std::int64_t row = 0;  ///< elements from one row to the next

  std::int64_t offset(std::int64_t matrix, std::span<const std::int64_t> batch) const;
};
Matrices matrices_of(const Shape& shape, bool heads_inside, std::span<const std::int64_t> batch);

}  // namespace colonnade
