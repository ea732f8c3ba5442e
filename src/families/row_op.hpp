// SPDX-License-Identifier: Apache-2.0
// What a family makes of a node: an operator that runs any rows of it, found by views.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/interval.hpp"
#include "colonnade/colonnade.hpp"

namespace colonnade {

/// Where one thread finds the rows of a value. Offsets and strides count bytes.
struct View {
  std::int32_t base = 0;        ///< index into StepContext::bases
  std::int32_t ring_rows = 0;   ///< 0: a whole tensor, row r of image n at offset + n * image_stride + r * row_stride
  std::int32_t band_begin = 0;  ///< ring: first row of this thread
  std::int32_t head_end = 0;    ///< ring: rows [band_begin, head_end) lie at head_offset, never recycled
  std::int32_t next_begin = 0;  ///< ring: rows from here on are the next thread's, at next_offset
  std::int64_t offset = 0;
  std::int64_t head_offset = 0;
  std::int64_t next_offset = 0;
  std::int64_t chunk_stride = 0;  ///< 0: not chunked
  std::int64_t row_stride = 0;
  std::int64_t image_stride = 0;
  std::int64_t pixel_stride = 0;  ///< of the channels of a chunk, or all
  std::int32_t column_begin = 0;  ///< the first column that rows start with: not 0 in a strip
  std::int32_t width = 0;         ///< columns of a row, in a strip those of the strip
  DType type = DType::undefined;  ///< of the elements

  std::byte* row(std::byte* const* bases, std::int64_t image, std::int64_t r, std::int64_t chunk = 0) const {
    std::byte* memory = bases[base] + chunk * chunk_stride;
    if (ring_rows == 0) return memory + offset + image * image_stride + r * row_stride;
    if (r >= next_begin) return memory + next_offset + (r - next_begin) * row_stride;
    if (r < head_end) return memory + head_offset + (r - band_begin) * row_stride;
    return memory + offset + (r % ring_rows) * row_stride;
  }

  /// Rows [r, result), at least one and none from `end` on, lie row_stride apart.
  std::int64_t even_until(std::int64_t r, std::int64_t end) const {
    if (ring_rows == 0 || r >= next_begin) return end;
    if (r < head_end) return std::min<std::int64_t>(end, head_end);
    return std::min<std::int64_t>({end, next_begin, r - r % ring_rows + ring_rows});
  }
};

/// What an operator gets to run a step.
struct StepContext {
  std::byte* const* bases = nullptr;  ///< arena, constants' zero base, inputs, outputs
  const View* views = nullptr;        ///< this thread's, by value
  std::int64_t image = 0;
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::int64_t chunk = -1;
  const float** pointers = nullptr;  ///< room for RowOp::pointer_count entries
  float* scratch = nullptr;          ///< the segment's scratch of this thread
  Interval turns{0, 1};              ///< of its units (Family::turns), one after another
  float* shared = nullptr;           ///< the segment's memory of all threads
};

/// One node, ready to run any rows of it.
class RowOp {
 public:
  virtual ~RowOp() = default;
  virtual void run(const StepContext& context) const = 0;
  /// Pointers that a step of `rows` rows has room for in StepContext::pointers. Most operators use none.
  virtual std::size_t pointer_count(std::int64_t) const { return 0; }
  /// Name of the kernel or island, for printing.
  virtual std::string_view kernel() const = 0;
  /// Whether its output may lie where its first input does, of which it is changed parts.
  virtual bool changes_in_place() const { return false; }
};

/// An operator that runs on whole tensors by oneDNN or the reference.
struct Island {
  std::string node, op, engine, reason;
};

}  // namespace colonnade
