// SPDX-License-Identifier: Apache-2.0
#include "graph/resize_coordinates.hpp"
#include "kernels/move/move.hpp"
#include "program/lower.hpp"
#include "program/ops/rows.hpp"

namespace colonnade {
namespace {

class ResizeOp final : public RowOp {
 public:
  ResizeOp(const LowerContext& context, const Resize& resize)
      : kernel_(kernels::move::select(context.isa)),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        shape_(row_shape(context.output_shape())) {
    const auto axes = *resize_axes(context.graph, context.node);
    rows_ = resize_taps(resize, axes[1]);
    row_weights_.assign(rows_.weights.begin(), rows_.weights.end());
    const ResizeTaps columns = resize_taps(resize, axes[2]);
    taps_x_ = columns.taps;
    columns_.assign(columns.indices.begin(), columns.indices.end());
    column_weights_.assign(columns.weights.begin(), columns.weights.end());
  }

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r) {
      for (std::int64_t t = 0; t < rows_.taps; ++t)
        step.pointers[t] = in(rows_.indices[static_cast<std::size_t>(r * rows_.taps + t)]);
      kernel_.resize({static_cast<std::size_t>(shape_.width), static_cast<std::size_t>(shape_.channels),
                      static_cast<std::size_t>(rows_.taps), static_cast<std::size_t>(taps_x_), step.pointers,
                      row_weights_.data() + r * rows_.taps, columns_.data(), column_weights_.data(), out(r),
                      in.pixel_stride(), out.pixel_stride()});
    }
  }

  std::size_t pointer_count(std::int64_t) const override { return static_cast<std::size_t>(rows_.taps); }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::move::Kernel& kernel_;
  ValueId in_, out_;
  RowShape shape_;
  ResizeTaps rows_;
  std::int64_t taps_x_ = 1;
  std::vector<float> row_weights_, column_weights_;
  std::vector<std::int32_t> columns_;
};

}  // namespace

std::unique_ptr<RowOp> lower_resize(const LowerContext& context) {
  return std::make_unique<ResizeOp>(context, std::get<Resize>(context.node.op));
}

}  // namespace colonnade
