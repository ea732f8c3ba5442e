// SPDX-License-Identifier: Apache-2.0
// Rows that only move: layout changes at the borders, concat, slice, pad, depth to space.
#include "kernels/move/move.hpp"

#include <cstring>

#include "base/checked.hpp"
#include "graph/parameters.hpp"
#include "program/lower.hpp"
#include "program/ops/rows.hpp"

namespace colonnade {
namespace {

using kernels::move::CopyArgs;

/// Between planes [image][channel][row][column] of a whole tensor and channels-last rows.
class LayoutOp final : public RowOp {
 public:
  LayoutOp(const LowerContext& context, bool to_last)
      : kernel_(kernels::move::select(context.isa)),
        to_last_(to_last),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        shape_(row_shape(to_last ? context.output_shape() : context.input_shape(0))) {}

  void run(const StepContext& step) const override {
    const Rows rows(step, to_last_ ? out_ : in_, 0);
    const View& columns = step.views[out_];
    float* planes = whole(step, to_last_ ? in_ : out_) + step.image * shape_.rows * shape_.row_elements();
    const std::ptrdiff_t plane_stride = shape_.rows * shape_.width;
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r) {
      float* plane_row = planes + r * shape_.width + columns.column_begin;
      const auto width = static_cast<std::size_t>(columns.width), channels = static_cast<std::size_t>(shape_.channels);
      if (to_last_)
        kernel_.planes_to_pixels({width, channels, plane_row, plane_stride, rows(r), rows.pixel_stride()});
      else
        kernel_.pixels_to_planes(
            {width, channels, rows.at(r, columns.column_begin), rows.pixel_stride(), plane_row, plane_stride});
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::move::Kernel& kernel_;
  bool to_last_;
  ValueId in_, out_;
  RowShape shape_;
};

/// Swaps two axes of a whole tensor [outer][first][second] -> [outer][second][first]; units are the outer indices.
class SwapAxesOp final : public RowOp {
 public:
  explicit SwapAxesOp(const LowerContext& context)
      : kernel_(kernels::move::select(context.isa)),
        swap_(*axis_swap_of(context.input_shape(0), std::get<Transpose>(context.node.op).perm)),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]) {}

  void run(const StepContext& step) const override {
    const std::int64_t elements = swap_.first * swap_.second;
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit)
      kernel_.pixels_to_planes({static_cast<std::size_t>(swap_.first), static_cast<std::size_t>(swap_.second),
                                whole(step, in_) + unit * elements, swap_.second, whole(step, out_) + unit * elements,
                                swap_.first});
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::move::Kernel& kernel_;
  AxisSwap swap_;
  ValueId in_, out_;
};

/// Concatenation along the channels or the width. Parts that lie in the output's rows already are left alone.
class ConcatOp final : public RowOp {
 public:
  ConcatOp(const LowerContext& context, const Concat& concat)
      : kernel_(kernels::move::select(context.isa)), out_(context.node.outputs[0]) {
    const auto rank = static_cast<std::int64_t>(context.output_shape().size());
    along_channels_ = normalize_axis(concat.axis, rank, context.node) == rank - 1;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
      const RowShape part = row_shape(context.input_shape(i));
      parts_.push_back({context.node.inputs[i], context.constant(i), part, begin});
      begin += along_channels_ ? part.channels : part.width;
    }
  }

  void run(const StepContext& step) const override {
    const Rows out(step, out_, 0);
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r)
      for (const Part& part : parts_) {
        const std::int64_t column = along_channels_ ? out.column_begin() : 0;
        const Rows rows(step, part.constant ? kAbsent : part.value, 0);
        const float* in = rows ? rows.at(r, column)
                               : part.constant + (step.image * part.shape.rows + r) * part.shape.row_elements() +
                                     column * part.shape.channels;
        float* to = out(r) + (along_channels_ ? part.begin : part.begin * out.pixel_stride());
        if (in == to) continue;
        kernel_.copy({static_cast<std::size_t>(along_channels_ ? out.width() : part.shape.width),
                      static_cast<std::size_t>(part.shape.channels), in, to,
                      rows ? rows.pixel_stride() : part.shape.channels, out.pixel_stride()});
      }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  struct Part {
    ValueId value;
    const float* constant;
    RowShape shape;
    std::int64_t begin;  ///< its first channel or column
  };
  const kernels::move::Kernel& kernel_;
  ValueId out_;
  bool along_channels_ = true;
  std::vector<Part> parts_;
};

/// Concatenation of whole tensors along an outer axis.
class ConcatOuterOp final : public RowOp {
 public:
  ConcatOuterOp(const LowerContext& context, const Concat& concat) : out_(context.node.outputs[0]) {
    const Shape& shape = context.output_shape();
    const auto axis =
        static_cast<std::size_t>(normalize_axis(concat.axis, static_cast<std::int64_t>(shape.size()), context.node));
    outer_ = element_count(std::span(shape).first(axis));
    for (std::size_t i = 0; i < context.node.inputs.size(); ++i)
      parts_.push_back({context.node.inputs[i], context.constant(i),
                        element_count(context.input_shape(i)) / std::max<std::int64_t>(1, outer_)});
  }

  void run(const StepContext& step) const override {
    float* out = whole(step, out_);
    for (std::int64_t i = 0; i < outer_; ++i)
      for (const Part& part : parts_) {
        if (part.elements == 0) continue;
        const float* in = part.constant ? part.constant : whole(step, part.value);
        std::memcpy(out, in + i * part.elements, static_cast<std::size_t>(part.elements) * sizeof(float));
        out += part.elements;
      }
  }

  std::string_view kernel() const override { return "memcpy"; }

 private:
  struct Part {
    ValueId value;
    const float* constant;
    std::int64_t elements;
  };
  ValueId out_;
  std::int64_t outer_ = 1;
  std::vector<Part> parts_;
};

/// A slice that lies in its input's rows is left alone.
class SliceOp final : public RowOp {
 public:
  explicit SliceOp(const LowerContext& context)
      : kernel_(kernels::move::select(context.isa)),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        shape_(row_shape(context.output_shape())) {
    const auto axes = *slice_axes_of(context.graph, context.node);
    rows_ = axes[axes.size() > 2 ? 1 : 0];
    width_ = axes.size() == 4 ? axes[2] : SliceRange{0, 1, 1};
    channels_ = axes.back();
  }

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r) {
      const float* from = in.at(rows_.first + r * rows_.step, width_.first) + channels_.first;
      if (from == out(r)) continue;
      kernel_.copy({static_cast<std::size_t>(shape_.width), static_cast<std::size_t>(shape_.channels), from, out(r),
                    in.pixel_stride() * width_.step, out.pixel_stride()});
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::move::Kernel& kernel_;
  ValueId in_, out_;
  RowShape shape_;
  SliceRange rows_, width_, channels_;
};

/// Constant channels of each pixel in another order. A block of channels read the other way round is a transposition.
class GatherOp final : public RowOp {
 public:
  explicit GatherOp(const LowerContext& context)
      : kernel_(kernels::move::select(context.isa)),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        channels_(*constant_ints(context.graph, context.node, 1)) {
    const std::int64_t count = context.input_shape(0).back();
    for (std::int64_t& c : channels_) c = c < 0 ? c + count : c;
    if (channels_.size() < 2 || channels_.front() != 0 || count != static_cast<std::int64_t>(channels_.size())) return;
    block_ = channels_[1];
    if (block_ < 1 || count % block_ != 0) block_ = 0;
    for (std::int64_t c = 0; block_ > 0 && c < count; ++c)
      if (channels_[static_cast<std::size_t>(c)] != c % (count / block_) * block_ + c / (count / block_)) block_ = 0;
  }

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r) {
      const float* from = in.at(r, out.column_begin());
      float* to = out(r);
      for (std::int64_t x = 0; x < out.width(); ++x, from += in.pixel_stride(), to += out.pixel_stride()) {
        if (block_ > 0) {
          const auto blocks = static_cast<std::ptrdiff_t>(channels_.size()) / block_;
          kernel_.planes_to_pixels(
              {static_cast<std::size_t>(block_), static_cast<std::size_t>(blocks), from, block_, to, blocks});
          continue;
        }
        for (std::size_t c = 0; c < channels_.size(); ++c) to[c] = from[channels_[c]];
      }
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::move::Kernel& kernel_;
  ValueId in_, out_;
  Ints channels_;
  std::int64_t block_ = 0;  ///< channels of a block of the transposition, 0: some other order
};

/// Padding of rows, width and, with a constant, channels.
class PadOp final : public RowOp {
 public:
  explicit PadOp(const LowerContext& context)
      : kernel_(kernels::move::select(context.isa)),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        in_shape_(row_shape(context.input_shape(0))),
        shape_(row_shape(context.output_shape())),
        pads_(*pad_axes_of(context.graph, context.node)),
        mode_(std::get<Pad>(context.node.op).mode) {
    if (const auto value = constant_floats(context.graph, context.node, 2)) value_ = value->front();
  }

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r) {
      const std::int64_t y = padded_source(mode_, r - pads_[1].begin, in_shape_.rows);
      if (mode_ == PadMode::constant)
        kernel_.fill({static_cast<std::size_t>(shape_.width), static_cast<std::size_t>(shape_.channels), out(r),
                      out.pixel_stride(), value_});
      if (y < 0) continue;
      copy_pixels(in(y), in, pads_[2].begin, in_shape_.width, out(r), out);
      if (mode_ == PadMode::constant) continue;
      for (std::int64_t x = 0; x < shape_.width; ++x) {
        if (x == pads_[2].begin) x += in_shape_.width;
        if (x == shape_.width) break;
        const std::int64_t source = padded_source(mode_, x - pads_[2].begin, in_shape_.width);
        copy_pixels(in(y) + source * in.pixel_stride(), in, x, 1, out(r), out);
      }
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// `count` pixels from `from` to output columns from `column` on.
  void copy_pixels(const float* from, const Rows& in, std::int64_t column, std::int64_t count, float* row,
                   const Rows& out) const {
    kernel_.copy({static_cast<std::size_t>(count), static_cast<std::size_t>(in_shape_.channels), from,
                  row + column * out.pixel_stride() + pads_[3].begin, in.pixel_stride(), out.pixel_stride()});
  }

  const kernels::move::Kernel& kernel_;
  ValueId in_, out_;
  RowShape in_shape_, shape_;
  std::vector<Interval> pads_;
  PadMode mode_;
  float value_ = 0;
};

class DepthToSpaceOp final : public RowOp {
 public:
  DepthToSpaceOp(const LowerContext& context, std::int64_t block)
      : kernel_(kernels::move::select(context.isa)),
        block_(block),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        in_shape_(row_shape(context.input_shape(0))),
        shape_(row_shape(context.output_shape())) {}

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r)
      for (std::int64_t bx = 0; bx < block_; ++bx)
        kernel_.copy({static_cast<std::size_t>(in_shape_.width), static_cast<std::size_t>(shape_.channels),
                      in(r / block_) + (r % block_ * block_ + bx) * shape_.channels, out(r) + bx * out.pixel_stride(),
                      in.pixel_stride(), block_ * out.pixel_stride()});
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::move::Kernel& kernel_;
  std::int64_t block_;
  ValueId in_, out_;
  RowShape in_shape_, shape_;
};

class SpaceToDepthOp final : public RowOp {
 public:
  SpaceToDepthOp(const LowerContext& context, std::int64_t block)
      : kernel_(kernels::move::select(context.isa)),
        block_(block),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        in_shape_(row_shape(context.input_shape(0))),
        shape_(row_shape(context.output_shape())) {}

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r)
      for (std::int64_t by = 0; by < block_; ++by)
        for (std::int64_t bx = 0; bx < block_; ++bx)
          kernel_.copy({static_cast<std::size_t>(shape_.width), static_cast<std::size_t>(in_shape_.channels),
                        in(r * block_ + by) + bx * in.pixel_stride(), out(r) + (by * block_ + bx) * in_shape_.channels,
                        block_ * in.pixel_stride(), out.pixel_stride()});
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::move::Kernel& kernel_;
  std::int64_t block_;
  ValueId in_, out_;
  RowShape in_shape_, shape_;
};

}  // namespace

std::unique_ptr<RowOp> lower_to_channels_last(const LowerContext& context) {
  return std::make_unique<LayoutOp>(context, true);
}
std::unique_ptr<RowOp> lower_to_channels_first(const LowerContext& context) {
  return std::make_unique<LayoutOp>(context, false);
}
std::unique_ptr<RowOp> lower_swap_axes(const LowerContext& context) { return std::make_unique<SwapAxesOp>(context); }
std::unique_ptr<RowOp> lower_concat(const LowerContext& context) {
  return std::make_unique<ConcatOp>(context, std::get<Concat>(context.node.op));
}
std::unique_ptr<RowOp> lower_concat_outer(const LowerContext& context) {
  return std::make_unique<ConcatOuterOp>(context, std::get<Concat>(context.node.op));
}
std::unique_ptr<RowOp> lower_slice(const LowerContext& context) { return std::make_unique<SliceOp>(context); }
std::unique_ptr<RowOp> lower_gather(const LowerContext& context) { return std::make_unique<GatherOp>(context); }
std::unique_ptr<RowOp> lower_pad(const LowerContext& context) { return std::make_unique<PadOp>(context); }
std::unique_ptr<RowOp> lower_depth_to_space(const LowerContext& context) {
  return std::make_unique<DepthToSpaceOp>(context, std::get<DepthToSpace>(context.node.op).block);
}
std::unique_ptr<RowOp> lower_space_to_depth(const LowerContext& context) {
  return std::make_unique<SpaceToDepthOp>(context, std::get<SpaceToDepth>(context.node.op).block);
}

}  // namespace colonnade
