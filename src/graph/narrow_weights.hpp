// SPDX-License-Identifier: Apache-2.0
// Narrow weights: matrices of floats whose elements are numbers of sixteen bits or fewer. The graph sees a constant of
// floats; who packs it may ask for the numbers instead and keep them as they are.
#pragma once

#include <functional>
#include <memory>

#include "graph/constant.hpp"

namespace colonnade {

/// A matrix [rows, columns] of numbers, and what turns them into floats: element (r, c) is
/// (number(r, c) - zero) * scale, rounded once, by scales and zeros of the block (r / block_rows, c / block_columns).
/// f16 and bf16 stand for themselves: no scales, no zeros.
struct NarrowWeights {
  DType type = DType::u8;  ///< of the numbers: u8, i8, u4, i4, u2, i2, f16, bf16
  std::int64_t block_rows = 0, block_columns = 0;
  bool has_zeros = false;  ///< one a block; else `zero` is that of all
  float zero = 0;
  bool byte_rows = false;  ///< rows that they multiply may be rounded to bytes, a scale for each block of them

  struct Parts {
    std::shared_ptr<const Constant> numbers;
    std::shared_ptr<const Constant> scales;  ///< f32 [blocks of rows, blocks of columns]
    std::shared_ptr<const Constant> zeros;   ///< likewise, or null
  };
  std::function<Parts()> parts = {};

  bool is_scaled() const { return type != DType::f16 && type != DType::bf16; }
};

/// The floats that they stand for, as a recipe; what is too small for a normal number is zero.
std::shared_ptr<const Constant> widened(NarrowWeights weights, Shape shape);

/// The fields of bytes [rows, n], lowest first: the first `columns` of each row, as a recipe of u2, u4 or u8.
std::shared_ptr<const Constant> fields_of(std::shared_ptr<const Constant> bytes, DType type, std::int64_t columns);

/// `count` numbers from `first` on as floats: of bytes, or of 16-bit floats.
void numbers_as_floats(const Constant& numbers, std::int64_t first, std::span<float> target);

}  // namespace colonnade
