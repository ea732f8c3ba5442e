// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <initializer_list>

#include "families/row_op.hpp"
#include "graph/graph.hpp"

namespace colonnade {

/// The rows of one value as a step sees them; false when the value is absent.
class Rows {
 public:
  Rows(const StepContext& step, ValueId value, std::int64_t chunk)
      : view_(value == kAbsent ? nullptr : step.views + value), bases_(step.bases), image_(step.image), chunk_(chunk) {}

  explicit operator bool() const { return view_ != nullptr; }
  float* operator()(std::int64_t row) const {
    return view_->row(bases_, image_, row, view_->chunk_stride ? chunk_ : 0);
  }
  std::int64_t pixel_stride() const { return view_->pixel_stride; }
  std::int64_t column_begin() const { return view_->column_begin; }
  std::int64_t width() const { return view_->width; }
  /// Rows [row, result) follow each other without a gap, if a row is `width` pixels; of an absent value all do.
  std::int64_t even_until(std::int64_t row, std::int64_t end, std::int64_t width) const {
    if (view_ == nullptr) return end;
    return view_->row_stride == width * view_->pixel_stride ? view_->even_until(row, end) : row + 1;
  }
  /// Element 0 of a column of the tensor, which the rows of a strip must hold.
  float* at(std::int64_t row, std::int64_t column) const {
    return (*this)(row) + (column - view_->column_begin) * view_->pixel_stride;
  }

 private:
  const View* view_;
  std::byte* const* bases_;
  std::int64_t image_;
  std::int64_t chunk_;
};

/// Rows [row, result), none from `end` on, whose pixels follow each other in every value as those of a row of `width`
/// pixels do.
inline std::int64_t run_end(std::initializer_list<const Rows*> values, std::int64_t row, std::int64_t end,
                            std::int64_t width) {
  for (const Rows* value : values) end = std::min(end, value->even_until(row, end, width));
  return end;
}

/// How a window that slides along a row meets the columns at hand: rows of the input start `skip` columns later, and
/// the first output's window starts `pad_left` columns before that.
struct RowWindow {
  std::int64_t skip = 0, pad_left = 0, width_in = 0, width_out = 0;

  RowWindow(const Rows& in, const Rows& out, std::int64_t stride, std::int64_t pad) {
    const std::int64_t first = out.column_begin() * stride - pad - in.column_begin();
    skip = std::clamp<std::int64_t>(first, 0, in.width());
    pad_left = std::max<std::int64_t>(0, -first);
    width_in = in.width() - skip;
    width_out = out.width();
  }
};

/// First element of a whole tensor.
inline float* whole(const StepContext& step, ValueId value) {
  const View& view = step.views[value];
  return reinterpret_cast<float*>(step.bases[view.base] + view.offset);
}

}  // namespace colonnade
