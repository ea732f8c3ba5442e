// SPDX-License-Identifier: Apache-2.0
// What an attention looks like to its family: its sizes, where its matrices lie, and how much room a thread needs.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "base/checked.hpp"
#include "families/matrices.hpp"
#include "graph/contraction.hpp"
#include "kernels/gemm/gemm.hpp"

namespace colonnade {

inline constexpr std::int64_t kUnitRows = 128;         // of one head, one unit of work
inline constexpr std::int64_t kScoreFloats = 1 << 15;  // of a block of rows
inline constexpr std::int64_t kFewestRows = 16;        // of a block, however many keys there are
inline constexpr std::int64_t kVaryingRows = 32;       // of a block whose rows have addends, so keys, of their own
inline constexpr std::int64_t kPanelWidth = static_cast<std::int64_t>(kernels::gemm::kPanel);

/// Floats from one row of scores to the next.
inline std::int64_t score_stride(std::int64_t keys) { return ceil_div(keys, kPanelWidth) * kPanelWidth; }

struct AttentionForm {
  Shape batch;
  std::int64_t rows = 0, keys = 0, size = 0, columns = 0;
  std::int64_t blocks = 0;  ///< units of a head
  Matrices q, k, v, out;
  std::array<Matrices, kMostAddends> addends;
  std::optional<Matrices> sinks;
  bool bounded = false;      ///< its rows are those of several texts
  bool by_distance = false;  ///< and what is added depends on how far apart they are
  std::int64_t far = 0;      ///< as far as its addends know
  std::int64_t texts = 0;    ///< that there is room for
  bool varies = false;       ///< rows have addends of their own
  bool grows = false;        ///< how many keys there are is known at run time

  /// Rows whose scores are held together.
  std::int64_t block_rows(std::int64_t of_keys) const {
    return std::clamp(kScoreFloats / score_stride(of_keys), kFewestRows, varies ? kVaryingRows : kUnitRows);
  }
  std::int64_t heads() const { return element_count(batch); }
  /// A single row reads keys and values where they lie: it would not read again what is packed.
  bool is_one_row() const { return rows == 1 && !bounded; }
  std::int64_t key_floats() const { return is_one_row() ? 0 : ceil_div(keys, kPanelWidth) * kPanelWidth * size; }
  std::int64_t value_floats() const { return is_one_row() ? 0 : ceil_div(columns, kPanelWidth) * kPanelWidth * keys; }
  /// Heads side by side that meet the same keys and values.
  std::int64_t sharing_heads() const {
    return !batch.empty() && k.strides.back() == 0 && v.strides.back() == 0 ? batch.back() : 1;
  }
  /// Of those, how many single rows meet the keys together.
  std::int64_t rows_together() const {
    return std::min(sharing_heads(), std::clamp<std::int64_t>(kScoreFloats / score_stride(keys), 1, kFewestRows));
  }
  /// Of any number of keys up to all.
  std::int64_t score_floats() const {
    const std::int64_t stride = score_stride(keys);
    if (is_one_row()) return rows_together() * stride;
    return std::min(std::max(kScoreFloats, kFewestRows * stride), std::min(rows, kUnitRows) * stride);
  }
  std::int64_t addend_floats() const {
    return by_distance ? static_cast<std::int64_t>(kMostAddends) * score_floats() : 0;
  }
  std::int64_t workspace_floats() const {
    return key_floats() + value_floats() + score_floats() + kUnitRows + addend_floats();
  }
};

/// Nothing where the tensors broadcast as no kernel reads them.
std::optional<AttentionForm> attention_form(const Subject& node, const Attention& op);

}  // namespace colonnade
