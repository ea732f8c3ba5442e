// SPDX-License-Identifier: Apache-2.0
// Slices, and constant channels in another order.
#include "families/slice.hpp"

#include <algorithm>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/move/move.hpp"

namespace colonnade {
namespace {

/// A slice that lies in its input's rows is left alone.
class SliceOp final : public RowOp {
 public:
  explicit SliceOp(const LowerContext& context)
      : kernel_(kernels::move::select(context.features)),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        element_(element_bytes(context.input(0))),
        shape_(row_shape(context.output_shape())) {
    const auto& axes = context.form<std::vector<SliceRange>>();
    rows_ = axes[axes.size() > 2 ? 1 : 0];
    width_ = axes.size() == 4 ? axes[2] : SliceRange{0, 1, 1};
    channels_ = axes.back();
  }

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r) {
      const std::byte* from = in.at(rows_.first + r * rows_.step, width_.first) + channels_.first * element_;
      if (from == out(r)) continue;
      kernel_.copy({static_cast<std::size_t>(shape_.width), static_cast<std::size_t>(shape_.channels * element_), from,
                    out(r), in.pixel_stride() * width_.step, out.pixel_stride()});
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::move::Kernel& kernel_;
  ValueOf<std::byte> in_, out_;
  std::int64_t element_;  ///< bytes
  RowShape shape_;
  SliceRange rows_, width_, channels_;
};

struct GatherForm {
  Ints channels;
};

/// Constant channels of each pixel in another order. A block of channels read the other way round is a transposition.
class GatherOp final : public RowOp {
 public:
  explicit GatherOp(const LowerContext& context)
      : kernel_(kernels::move::select(context.features)),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        channels_(context.form<GatherForm>().channels) {
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
  ValueOf<float> in_, out_;
  Ints channels_;
  std::int64_t block_ = 0;  ///< channels of a block of the transposition, 0: some other order
};

Match match_slice(const Candidate& node) {
  if (!std::holds_alternative<Slice>(node.node.op)) return refuse();
  const auto axes = slice_axes_of(node.graph, node.node);
  if (!axes) return refuse("bounds are not constant");
  if (axes->size() < 2 || axes->size() > 4) return refuse("slice of a tensor that is not an image");
  for (const SliceRange& axis : *axes)
    if (axis.step < 1) return refuse("negative step");
  const SliceRange& images = axes->front();
  if (axes->size() > 2 && (images.first != 0 || images.step != 1 || images.count != node.input_shape(0)[0]))
    return refuse("slices images");
  return axes->back().step == 1 ? take(Form::of(*axes)) : refuse("strided channels");
}

/// A slice of nothing but channels may lie in what it is cut from.
std::vector<Placement> placements(const Chosen& node) {
  if (node.constant(0)) return {};
  const Shape& shape = node.input_shape(0);
  const auto& axes = node.form<std::vector<SliceRange>>();
  for (std::size_t axis = 0; axis + 1 < axes.size(); ++axis)
    if (axes[axis].first != 0 || axes[axis].step != 1 || axes[axis].count != shape[axis]) return {};
  return {{node.node.outputs[0], node.node.inputs[0], axes.back().first}};
}

Match match_gather(const Candidate& node) {
  const auto* op = std::get_if<Gather>(&node.node.op);
  if (op == nullptr) return refuse();
  const auto channels = constant_ints(node.graph, node.node, 1);
  const bool flat = node.input_shape(1).size() == 1 && node.input_shape(0).size() > 1;
  return channels && flat && is_last(op->axis, node.input_shape(0)) ? take(Form::of(GatherForm{*channels}))
                                                                    : refuse("gathers other than constant channels");
}

std::unique_ptr<RowOp> lower_slice(const LowerContext& context) { return std::make_unique<SliceOp>(context); }
std::unique_ptr<RowOp> lower_gather(const LowerContext& context) { return std::make_unique<GatherOp>(context); }

}  // namespace

std::optional<std::vector<SliceRange>> slice_axes_of(const Graph& graph, const Node& node) {
  const Shape& shape = graph.value(node.inputs[0]).type.static_shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto starts = constant_ints(graph, node, 1), ends = constant_ints(graph, node, 2);
  if (!starts || !ends) return std::nullopt;
  const auto given = [&](std::size_t index) { return node.input(index) != kAbsent; };
  auto axes = constant_ints(graph, node, 3), steps = constant_ints(graph, node, 4);
  if ((given(3) && !axes) || (given(4) && !steps)) return std::nullopt;
  std::vector<SliceRange> result;
  for (const std::int64_t dim : shape) result.push_back({0, 1, dim});
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis =
        static_cast<std::size_t>(normalize_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), rank, node));
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (step == 0) return std::nullopt;
    result[axis] = slice_range(shape[axis], (*starts)[i], (*ends)[i], step);
  }
  return result;
}

constinit const Family families::slice = {.name = "slice",
                                          .scope = Scope::rows,
                                          .border = Border::none,
                                          .types = kMovedTypes,
                                          .match = match_slice,
                                          .units = one_unit,
                                          .effort = byte_effort<Work::copy>,
                                          .weights_bytes = no_bytes,
                                          .workspace_bytes = no_bytes,
                                          .window = no_window,
                                          .chunks = no_chunks,
                                          .placements = placements,
                                          .tell = nothing_told,
                                          .lower = lower_slice};

constinit const Family families::gather = {.name = "gather",
                                           .scope = Scope::rows,
                                           .border = Border::none,
                                           .types = kFloats,
                                           .match = match_gather,
                                           .units = one_unit,
                                           .effort = byte_effort<Work::copy>,
                                           .weights_bytes = no_bytes,
                                           .workspace_bytes = no_bytes,
                                           .window = no_window,
                                           .chunks = no_chunks,
                                           .placements = no_placements,
                                           .tell = nothing_told,
                                           .lower = lower_gather};

}  // namespace colonnade
