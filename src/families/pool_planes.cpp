// SPDX-License-Identifier: Apache-2.0
// Poolings of one channel, over one or three axes: its pixels lie side by side, so that lanes are pixels. Units are
// rows of all planes.
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/pool.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "families/volume.hpp"
#include "kernels/pool/pool.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kMostBatchRows = 16;  // that a kernel pools in one call
constexpr std::int64_t kMostWindowRows = 1 << 12, kMostLineFloats = 1 << 18;

/// Of as many rows as a call takes: few enough to stay near.
kernels::pool::LinesArgs lines_args(const VolumeWindow& axes, const Shape& in, const Shape& out) {
  kernels::pool::LinesArgs args;
  args.width_in = static_cast<std::size_t>(in[3]);
  args.width_out = static_cast<std::size_t>(out[3]);
  args.kernel_h = static_cast<std::size_t>(axes[0].kernel * axes[1].kernel);
  args.kernel_w = static_cast<std::size_t>(axes[2].kernel);
  args.stride_w = static_cast<std::size_t>(axes[2].stride);
  args.dilation_w = static_cast<std::size_t>(axes[2].dilation);
  args.pad_left = static_cast<std::size_t>(axes[2].pad_begin);
  constexpr std::size_t kNearFloats = 4096;
  args.rows = std::clamp<std::size_t>(kNearFloats / line_floats(args), 1, kMostBatchRows);
  return args;
}

class PoolPlanesOp final : public RowOp {
 public:
  PoolPlanesOp(const LowerContext& context, const Pool& pool)
      : kernel_(kernels::pool::select(context.features)),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        axes_(context.form<VolumeWindow>()),
        in_shape_(volume_of(context.input_shape(0))),
        out_shape_(volume_of(context.output_shape())),
        rows_(volume_rows(out_shape_)),
        args_(lines_args(axes_, in_shape_, out_shape_)) {
    std::vector<std::vector<float>> counts;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const WindowAxis& axis = axes_[i];
      counts.push_back(tap_counts(out_shape_[i + 1], in_shape_[i + 1], axis.kernel, axis.stride, axis.dilation,
                                  axis.pad_begin, axis.pad_end, pool.count_include_pad));
    }
    plane_counts_ = std::move(counts[0]), row_counts_ = std::move(counts[1]), column_counts_ = std::move(counts[2]);
    args_.kind = pool.kind == PoolKind::max ? kernels::pool::Kind::max : kernels::pool::Kind::average;
    args_.column_counts = column_counts_.data();
  }

  void run(const StepContext& step) const override {
    const Interval rows = rows_.of(step);
    const auto taps = static_cast<std::int64_t>(args_.kernel_h), most = static_cast<std::int64_t>(args_.rows);
    float row_counts[kMostBatchRows];
    kernels::pool::LinesArgs args = args_;
    args.in_rows = step.pointers;
    args.row_counts = row_counts;
    args.workspace = step.scratch;
    VolumeRow at(out_shape_, rows.begin);
    for (std::int64_t row = rows.begin; row < rows.end; row += most, args.fresh = false) {
      const std::int64_t count = std::min(most, rows.end - row);
      for (std::int64_t r = 0; r < count; ++r, at.next()) {
        volume_tap_rows(axes_, in_shape_, whole(step, in_), at, step.pointers + r * taps);
        row_counts[r] =
            plane_counts_[static_cast<std::size_t>(at.plane)] * row_counts_[static_cast<std::size_t>(at.row)];
      }
      args.rows = static_cast<std::size_t>(count);
      args.out = whole(step, out_) + row * out_shape_[3];
      kernel_.lines(args);
    }
  }

  std::size_t pointer_count(std::int64_t) const override { return args_.rows * args_.kernel_h; }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::pool::Kernel& kernel_;
  ValueOf<float> in_, out_;
  VolumeWindow axes_;
  Shape in_shape_, out_shape_;
  Shared rows_;
  std::vector<float> plane_counts_, row_counts_, column_counts_;
  kernels::pool::LinesArgs args_;  ///< all but which rows
};

Match match(const Candidate& node) {
  const Pool* pool = std::get_if<Pool>(&node.node.op);
  const Shape& in = node.input_shape(0);
  if (pool == nullptr || (in.size() != 3 && in.size() != 5) || in.back() != 1 || pool->kind == PoolKind::lp)
    return refuse();
  if (node.node.outputs.size() > 1 && node.node.outputs[1] != kAbsent) return refuse();
  VolumeWindow axes = volume_window(window_axes(*pool, std::span(in).subspan(1, in.size() - 2)));
  const std::int64_t most = std::max(axes[0].kernel, axes[1].kernel);
  if (most > kMostWindowRows || axes[0].kernel * axes[1].kernel > kMostWindowRows)
    return refuse("windows of too many rows");
  const WindowAxis& columns = axes[2];
  const std::int64_t factors[] = {columns.kernel, columns.stride, columns.dilation, columns.pad_begin,
                                  in[in.size() - 2]};
  if (*std::ranges::max_element(factors) > kMostLineFloats) return refuse("a line of too many elements");
  const Shape out = volume_of(node.output_shape());
  if (kernels::pool::line_floats(lines_args(axes, volume_of(in), out)) > kMostLineFloats)
    return refuse("a line of too many elements");
  return take(Form::of(std::move(axes)));
}

std::int64_t units(const Chosen& node) { return volume_rows(volume_of(node.output_shape())).units(); }

/// Rows are folded first, at every column that a window reads. A row takes as long as so many taps besides.
Effort effort(const Chosen& node, const Rates& rates) {
  constexpr double kTapsOfRow = 400;
  const VolumeWindow& axes = node.form<VolumeWindow>();
  const auto rows = static_cast<double>(axes[0].kernel * axes[1].kernel), columns = static_cast<double>(axes[2].kernel);
  const double share = (rows * static_cast<double>(axes[2].stride) + columns) / (rows * columns);
  const double lines =
      elements_of(node.graph, node.node.outputs[0]) / static_cast<double>(volume_of(node.output_shape())[3]);
  return {rates.seconds(Work::pool, share * flop_of(node.graph, node.node) + lines * kTapsOfRow, rows * columns)};
}

std::int64_t workspace_bytes(const Chosen& node) {
  const kernels::pool::LinesArgs args =
      lines_args(node.form<VolumeWindow>(), volume_of(node.input_shape(0)), volume_of(node.output_shape()));
  return static_cast<std::int64_t>(kernels::pool::workspace_floats(args) * sizeof(float));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<PoolPlanesOp>(context, std::get<Pool>(context.node.op));
}

}  // namespace

constinit const Family families::pool_planes = whole_family({.name = "pool_planes",
                                                             .types = kFloats,
                                                             .match = match,
                                                             .units = units,
                                                             .effort = effort,
                                                             .weights_bytes = no_bytes,
                                                             .workspace_bytes = workspace_bytes,
                                                             .lower = lower});

}  // namespace colonnade
