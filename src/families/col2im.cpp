// SPDX-License-Identifier: Apache-2.0
// Col2Im: the blocks around all positions are added up to images. Every plane is one thread's, and its sums run tap by
// tap.
#include <algorithm>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "reference/elements.hpp"
#include "reference/indexing.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/sliding.hpp"

namespace colonnade {
namespace {

Shared image_planes(const Subject& node) { return {node.output_shape()[0] * node.output_shape()[1]}; }

/// The positions of one axis from which a tap sees a pixel, and the pixel of the first.
struct Seen {
  std::int64_t first = 0, count = 0, pixel = 0;
};
Seen seen_by(const reference::Sliding& window, std::size_t axis, std::int64_t tap, std::int64_t positions,
             std::int64_t size) {
  const std::int64_t stride = window.strides[axis], from = window.pixel(axis, 0, tap);
  const std::int64_t first = from >= 0 ? 0 : (-from + stride - 1) / stride;
  const std::int64_t end = from >= size ? 0 : std::min(positions, (size - 1 - from) / stride + 1);
  return {first, std::max<std::int64_t>(0, end - first), from + first * stride};
}

class Col2ImOp final : public RowOp {
 public:
  Col2ImOp(const LowerContext& context, const Opaque& op)
      : kernel_(kernels::elementwise::select(context.features)),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        planes_(image_planes(context)) {
    const auto block = context.input(2).constant->tensor();
    window_ = reference::sliding(op, reference::load_all<std::int64_t>(*block));
    image_.assign(context.output_shape().begin() + 2, context.output_shape().end());
    for (std::size_t axis = 0; axis < image_.size(); ++axis) grid_.push_back(window_.positions(axis, image_[axis]));
    image_strides_ = reference::strides_of(image_);
    grid_strides_ = reference::strides_of(grid_);
  }

  void run(const StepContext& step) const override {
    const std::int64_t pixels = element_count(image_), positions = element_count(grid_);
    const std::int64_t taps = element_count(window_.kernel);
    const Interval planes = planes_.of(step);
    for (std::int64_t plane = planes.begin; plane < planes.end; ++plane) {
      float* image = whole(step, out_) + plane * pixels;
      const float* columns = whole(step, in_) + plane * taps * positions;
      std::fill_n(image, pixels, 0.0F);
      if (positions == 0) continue;
      Ints tap(image_.size(), 0);
      do {
        add(tap, 0, columns, image);
        columns += positions;
      } while (reference::next_index(tap, window_.kernel));
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// What a tap sees along the axes from `axis` on.
  void add(const Ints& tap, std::size_t axis, const float* columns, float* image) const {
    const std::size_t axes = image_.size();
    const Seen seen = seen_by(window_, axis, tap[axis], grid_[axis], image_[axis]);
    if (seen.count == 0) return;
    columns += seen.first * grid_strides_[axis];
    image += seen.pixel * image_strides_[axis];
    const std::int64_t step = window_.strides[axis] * image_strides_[axis];
    if (axis + 1 == axes) return add_rows(1, 0, 0, seen.count, columns, image);
    if (axis + 2 == axes) {
      const Seen row = seen_by(window_, axis + 1, tap[axis + 1], grid_[axis + 1], image_[axis + 1]);
      return add_rows(seen.count, grid_strides_[axis], step, row.count, columns + row.first, image + row.pixel);
    }
    for (std::int64_t i = 0; i < seen.count; ++i)
      add(tap, axis + 1, columns + i * grid_strides_[axis], image + i * step);
  }

  /// `count` positions of each of `rows` rows.
  void add_rows(std::int64_t rows, std::int64_t from_stride, std::int64_t to_stride, std::int64_t count,
                const float* columns, float* image) const {
    if (count == 0) return;
    const std::int64_t stride = window_.strides.back();
    if (stride != 1) {
      for (std::int64_t row = 0; row < rows; ++row, columns += from_stride, image += to_stride)
#pragma GCC unroll 8
        for (std::int64_t i = 0; i < count; ++i) image[i * stride] += columns[i];
      return;
    }
    kernels::elementwise::BinaryArgs args;
    args.op = kernels::elementwise::Binary::add;
    args.pixels = static_cast<std::size_t>(rows);
    args.channels = static_cast<std::size_t>(count);
    args.a = image;
    args.b = columns;
    args.out = image;
    args.a_pixel_stride = to_stride;
    args.b_pixel_stride = from_stride;
    args.out_pixel_stride = to_stride;
    kernel_.binary(args);
  }

  const kernels::elementwise::Kernel& kernel_;
  ValueOf<float> in_, out_;
  Shared planes_;
  reference::Sliding window_;
  Ints image_, grid_, image_strides_, grid_strides_;
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<Opaque>(&node.node.op);
  if (op == nullptr || op->definition != &reference::kCol2Im) return refuse();
  if (node.output_shape().size() < 3) return refuse("images without axes have no kernel");
  return node.constant(1) && node.constant(2) ? take() : refuse("computed shapes of images have no kernel");
}

std::int64_t units(const Chosen& node) { return image_planes(node).units(); }

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  context.taken[1] = context.taken[2] = true;
  return std::make_unique<Col2ImOp>(context, std::get<Opaque>(context.node.op));
}

}  // namespace

constinit const Family families::col2im = whole_family({.name = "col2im",
                                                        .types = kFloats,
                                                        .match = match,
                                                        .units = units,
                                                        .effort = byte_effort<Work::copy>,
                                                        .weights_bytes = no_bytes,
                                                        .workspace_bytes = no_bytes,
                                                        .lower = lower});

}  // namespace colonnade
