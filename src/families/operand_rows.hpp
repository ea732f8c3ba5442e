// SPDX-License-Identifier: Apache-2.0
// How operators of two operands find the elements of each.
#pragma once

#include "families/broadcast.hpp"
#include "families/lower.hpp"

namespace colonnade {

/// One operand: rows like the output's, or a whole tensor (or constant) that broadcasts. Strides count T's.
template <class T>
class OperandRows {
 public:
  OperandRows(const LowerContext& context, std::size_t index, const Broadcast& broadcast)
      : value_(context.in<T>(index)), constant_(reinterpret_cast<const T*>(context.bytes(index))) {
    const Shape &shape = context.input_shape(index), &output = context.output_shape();
    by_rows_ = !constant_ && !broadcast.images && !broadcast.rows && shape.size() == output.size();
    const RowShape out = row_shape(output);
    const bool scalar = element_count(shape) == 1;
    const std::int64_t channels = broadcast.channels || scalar ? 1 : out.channels;
    const std::int64_t width = broadcast.width || scalar ? 1 : out.width,
                       rows = broadcast.rows || scalar ? 1 : out.rows;
    channel_stride_ = broadcast.channels ? 0 : 1;
    pixel_stride_ = broadcast.width ? 0 : channels;
    if (out.width == 1) pixel_stride_ = broadcast.rows ? 0 : channels;
    row_stride_ = broadcast.rows ? 0 : width * channels;
    image_stride_ = broadcast.images ? 0 : rows * width * channels;
    if (scalar) pixel_stride_ = row_stride_ = image_stride_ = 0;
  }

  /// The operand's values for output row r from `column` on.
  const T* row(const StepContext& step, std::int64_t r, std::int64_t column) const {
    if (by_rows_) return pixel_stride_ == 0 ? Rows(step, value_, 0)(r) : Rows(step, value_, 0).at(r, column);
    const T* base = constant_ ? constant_ : whole(step, value_);
    return base + step.image * image_stride_ + r * row_stride_ + column * pixel_stride_;
  }
  /// From a pixel to the next.
  std::ptrdiff_t stride(const StepContext& step) const {
    return by_rows_ && pixel_stride_ != 0 ? Rows(step, value_, 0).pixel_stride() : pixel_stride_;
  }
  /// From a channel to the next: 0 where all have one value.
  std::ptrdiff_t channel_stride() const { return channel_stride_; }

 private:
  ValueOf<T> value_;
  const T* constant_;
  bool by_rows_ = true;
  std::int64_t image_stride_ = 0, row_stride_ = 0;
  std::ptrdiff_t pixel_stride_ = 0, channel_stride_ = 1;
};

}  // namespace colonnade
