// SPDX-License-Identifier: Apache-2.0
// Products of rows and narrow weights that are added to sums which are there.
#pragma once

#include "families/narrow_form.hpp"
#include "kernels/narrow_bytes/narrow_bytes.hpp"

namespace colonnade {

/// By the numbers themselves, or, where the form is for_bytes(), by rows that are rounded to bytes. A row has the bits
/// that it has alone.
class NarrowAdder {
 public:
  static constexpr auto kMostRows = static_cast<std::int64_t>(kernels::narrow_bytes::kMostRows);

  NarrowAdder(const NarrowForm& form, kernels::Features features);

  /// Of `terms` for so many rows.
  static std::int64_t terms_floats(const NarrowForm& form, std::int64_t rows);
  /// Rows, `stride` floats apart, at most kMostRows, as add() reads them; aligned to 64 bytes.
  void prepare(const float* x, std::int64_t stride, std::int64_t rows, float* terms) const;
  /// Panel after panel, to outputs that follow each other, `stride` floats from row to row.
  void add(const float* terms, std::int64_t rows, const std::byte* panels, std::int64_t panel_count, float* sums,
           std::int64_t stride) const;

 private:
  kernels::narrow::Format format_;
  const kernels::narrow::Kernel* numbers_ = nullptr;
  const kernels::narrow_bytes::Kernel* bytes_ = nullptr;
};

}  // namespace colonnade
