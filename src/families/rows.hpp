// SPDX-License-Identifier: Apache-2.0
// The rows of a value as an operator reads and writes them: the one place where bytes become elements.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "families/row_op.hpp"
#include "graph/graph.hpp"

namespace colonnade {

inline std::int64_t element_bytes(const Value& value) { return static_cast<std::int64_t>(size_of(value.type.dtype)); }

/// A value whose elements are T's, as was made sure when its node was lowered (LowerContext::in and out).
template <class T>
struct ValueOf {
  ValueId id = kAbsent;
  explicit operator bool() const { return id != kAbsent; }
};

/// The rows of one value as a step sees them, whatever their type; false when the value is absent.
class AnyRows {
 public:
  AnyRows(const StepContext& step, ValueId value, std::int64_t chunk)
      : view_(value == kAbsent ? nullptr : step.views + value), bases_(step.bases), image_(step.image), chunk_(chunk) {}

  explicit operator bool() const { return view_ != nullptr; }
  std::int64_t column_begin() const { return view_->column_begin; }
  std::int64_t width() const { return view_->width; }
  bool in_chunks() const { return view_->chunk_stride != 0; }
  /// Rows [row, result) follow each other without a gap, if a row is `width` pixels; of an absent value all do.
  std::int64_t even_until(std::int64_t row, std::int64_t end, std::int64_t width) const {
    if (view_ == nullptr) return end;
    return view_->row_stride == width * view_->pixel_stride ? view_->even_until(row, end) : row + 1;
  }

 protected:
  std::byte* bytes(std::int64_t row) const { return view_->row(bases_, image_, row, in_chunks() ? chunk_ : 0); }

  const View* view_;

 private:
  std::byte* const* bases_;
  std::int64_t image_;
  std::int64_t chunk_;
};

/// Rows of elements T; of any value as std::byte. Strides count T's.
template <class T>
class Rows : public AnyRows {
 public:
  Rows(const StepContext& step, ValueOf<T> value, std::int64_t chunk)
      : AnyRows(step, value.id, chunk),
        pixel_stride_(value ? view_->pixel_stride / static_cast<std::int64_t>(sizeof(T)) : 0) {}

  T* operator()(std::int64_t row) const { return reinterpret_cast<T*>(bytes(row)); }
  std::int64_t pixel_stride() const { return pixel_stride_; }
  /// Element 0 of a column of the tensor, which the rows of a strip must hold.
  T* at(std::int64_t row, std::int64_t column) const {
    return (*this)(row) + (column - view_->column_begin) * pixel_stride_;
  }

 private:
  std::int64_t pixel_stride_;
};

/// Rows [row, result), none from `end` on, whose pixels follow each other in every value as those of a row of `width`
/// pixels do.
inline std::int64_t run_end(std::initializer_list<const AnyRows*> values, std::int64_t row, std::int64_t end,
                            std::int64_t width) {
  for (const AnyRows* value : values) end = std::min(end, value->even_until(row, end, width));
  return end;
}

/// How a window that slides along a row meets the columns at hand: rows of the input start `skip` columns later, and
/// the first output's window starts `pad_left` columns before that.
struct RowWindow {
  std::int64_t skip = 0, pad_left = 0, width_in = 0, width_out = 0;

  RowWindow(const AnyRows& in, const AnyRows& out, std::int64_t stride, std::int64_t pad) {
    const std::int64_t first = out.column_begin() * stride - pad - in.column_begin();
    skip = std::clamp<std::int64_t>(first, 0, in.width());
    pad_left = std::max<std::int64_t>(0, -first);
    width_in = in.width() - skip;
    width_out = out.width();
  }
};

/// First byte of a whole tensor.
inline std::byte* whole(const StepContext& step, ValueId value) {
  const View& view = step.views[value];
  return step.bases[view.base] + view.offset;
}
/// Its first element.
template <class T>
T* whole(const StepContext& step, ValueOf<T> value) {
  return reinterpret_cast<T*>(whole(step, value.id));
}

}  // namespace colonnade
