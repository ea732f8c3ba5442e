// SPDX-License-Identifier: Apache-2.0
// Narrow weights as family `narrow_product` packs them.
#pragma once

#include <optional>
#include <string>

#include "families/weight_room.hpp"
#include "graph/narrow_weights.hpp"
#include "kernels/narrow/narrow.hpp"
#include "topology/blocking.hpp"

namespace colonnade {

struct NarrowForm {
  static constexpr std::int64_t kFewRows = 32, kMostVectors = 32;

  kernels::narrow::Format format = {};
  std::int64_t groups = 1;      ///< matrices one behind the other, each with panels of its own
  std::int64_t outputs = 0;     ///< of a group
  bool transposed = false;      ///< the matrix is [outputs, depth]
  std::int64_t shift = 0;       ///< added to numbers and zeros, such that the numbers are those of the format
  std::int64_t depth_step = 0;  ///< of a panel that is widened
  std::int64_t rows = 0;        ///< that it multiplies
  bool single = false;          ///< a sample is one row
  bool exact = false;           ///< sums in the order of floats
  bool byte_rows = false;       ///< rows may be rounded to bytes

  std::int64_t depth() const { return static_cast<std::int64_t>(format.k); }
  std::int64_t panels() const;  ///< of a group
  std::int64_t group_bytes() const { return panels() * static_cast<std::int64_t>(format.panel_bytes()); }
  std::int64_t packed_bytes() const { return groups * group_bytes(); }
  /// For rows that are rounded to bytes; nothing where that is not allowed, or no kernel does it.
  std::optional<NarrowForm> for_bytes() const;
  /// Numbers that bytes alone multiply.
  bool rounds_rows() const { return format.type == kernels::narrow::Type::u8; }
  /// Samples of a single row meet the numbers themselves.
  bool as_vectors() const { return single && !exact; }
  /// Making weights anew for every eight rows costs less than widening a panel.
  bool is_few() const { return !as_vectors() && rows <= kFewRows; }
  std::int64_t row_blocks() const;
};

/// How a constant matrix is packed; nothing where it holds floats alone, is small, or has blocks that no kernel takes.
/// `groups` of them may lie one behind the other, transposed. Axes before the last are rows.
std::optional<NarrowForm> narrow_form(const Constant& matrix, bool transposed, const Blocking& blocking,
                                      std::int64_t groups = 1);

/// What packed weights of this form are called.
std::string format_of(const NarrowForm& form);
WeightMemory pack_narrow(const Constant& matrix, const NarrowForm& form, WeightRoom& room);

}  // namespace colonnade
