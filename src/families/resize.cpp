// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "graph/resize_coordinates.hpp"
#include "kernels/move/move.hpp"

namespace colonnade {
namespace {

class ResizeOp final : public RowOp {
 public:
  ResizeOp(const LowerContext& context, const Resize& resize)
      : kernel_(kernels::move::select(context.features)),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        shape_(row_shape(context.output_shape())) {
    const auto axes = *resize_axes(context.graph, context.node);
    rows_ = resize_taps(resize, axes[1]);
    read_rows_with_weight();
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
  /// A step has the rows that weigh something: the others are read there too.
  void read_rows_with_weight() {
    const auto taps = static_cast<std::size_t>(rows_.taps);
    for (std::size_t first = 0; first < rows_.weights.size(); first += taps) {
      std::size_t weighty = 0;
      while (weighty + 1 < taps && rows_.weights[first + weighty] == 0) ++weighty;
      for (std::size_t t = 0; t < taps; ++t)
        if (rows_.weights[first + t] == 0) rows_.indices[first + t] = rows_.indices[first + weighty];
    }
  }

  const kernels::move::Kernel& kernel_;
  ValueOf<float> in_, out_;
  RowShape shape_;
  ResizeTaps rows_;
  std::int64_t taps_x_ = 1;
  std::vector<float> row_weights_, column_weights_;
  std::vector<std::int32_t> columns_;
};

/// The nearest pixel, whatever its elements are.
class NearestOp final : public RowOp {
 public:
  explicit NearestOp(const LowerContext& context)
      : in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        shape_(row_shape(context.output_shape())),
        pixel_bytes_(static_cast<std::size_t>(shape_.channels * element_bytes(context.input(0)))) {
    const auto& resize = std::get<Resize>(context.node.op);
    const auto axes = *resize_axes(context.graph, context.node);
    rows_ = resize_taps(resize, axes[1]).indices;
    columns_ = resize_taps(resize, axes[2]).indices;
  }

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r) {
      const std::byte* from = in(rows_[static_cast<std::size_t>(r)]);
      std::byte* to = out(r);
      for (const std::int64_t column : columns_) {
        std::memcpy(to, from + column * in.pixel_stride(), pixel_bytes_);
        to += out.pixel_stride();
      }
    }
  }

  std::string_view kernel() const override { return "copy"; }

 private:
  ValueOf<std::byte> in_, out_;
  RowShape shape_;
  std::size_t pixel_bytes_;
  Ints rows_, columns_;
};

Match match_nearest(const Candidate& node) {
  const Resize* op = std::get_if<Resize>(&node.node.op);
  const bool fits = op != nullptr && op->mode == ResizeMode::nearest &&
                    op->coordinates != CoordinateMode::tf_crop_and_resize && node.input_shape(0).size() == 4;
  if (!fits || node.input(0).type.dtype == DType::f32) return refuse();
  const Shape &in = node.input_shape(0), &out = node.output_shape();
  return in[0] == out[0] && in[3] == out[3] && resize_axes(node.graph, node.node) ? take() : refuse();
}

Match match(const Candidate& node) {
  const Resize* op = std::get_if<Resize>(&node.node.op);
  if (op == nullptr) return refuse();
  const Shape &in = node.input_shape(0), &out = node.output_shape();
  if (in.size() != 4 || in[0] != out[0] || in[3] != out[3]) return refuse("resizes other than the two spatial axes");
  if (op->coordinates == CoordinateMode::tf_crop_and_resize) return refuse("a resize that crops");
  return resize_axes(node.graph, node.node) ? take() : refuse("scales are not constant");
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<ResizeOp>(context, std::get<Resize>(context.node.op));
}
std::unique_ptr<RowOp> lower_nearest(const LowerContext& context) { return std::make_unique<NearestOp>(context); }

}  // namespace

constinit const Family families::resize = {.name = "resize",
                                           .scope = Scope::rows,
                                           .border = Border::none,
                                           .types = kFloats,
                                           .match = match,
                                           .units = one_unit,
                                           .effort = element_effort<Work::resize>,
                                           .weights_bytes = no_bytes,
                                           .workspace_bytes = no_bytes,
                                           .window = no_window,
                                           .chunks = no_chunks,
                                           .placements = no_placements,
                                           .tell = nothing_told,
                                           .lower = lower};

constinit const Family families::resize_nearest = {.name = "resize_nearest",
                                                   .scope = Scope::rows,
                                                   .border = Border::none,
                                                   .types = kMovedTypes,
                                                   .match = match_nearest,
                                                   .units = one_unit,
                                                   .effort = byte_effort<Work::copy>,
                                                   .weights_bytes = no_bytes,
                                                   .workspace_bytes = no_bytes,
                                                   .window = no_window,
                                                   .chunks = no_chunks,
                                                   .placements = no_placements,
                                                   .tell = nothing_told,
                                                   .lower = lower_nearest};

}  // namespace colonnade
