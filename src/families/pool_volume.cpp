// SPDX-License-Identifier: Apache-2.0
// Poolings of volumes and lines: a window over planes and rows is one over as many rows, found by pointers. Units are
// rows of all planes.
#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/pool.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "families/volume.hpp"
#include "kernels/pool/pool.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kMostWindowRows = 1 << 12;  // of a window

class PoolVolumeOp final : public RowOp {
 public:
  PoolVolumeOp(const LowerContext& context, const Pool& pool)
      : kernel_(kernels::pool::select(context.features)),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        axes_(context.form<VolumeWindow>()),
        in_shape_(volume_of(context.input_shape(0))),
        out_shape_(volume_of(context.output_shape())),
        rows_(volume_rows(out_shape_)) {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const WindowAxis& axis = axes_[i];
      counts_.push_back(tap_counts(out_shape_[i + 1], in_shape_[i + 1], axis.kernel, axis.stride, axis.dilation,
                                   axis.pad_begin, axis.pad_end, pool.count_include_pad));
    }
    args_.kind = pool.kind == PoolKind::max ? kernels::pool::Kind::max : kernels::pool::Kind::average;
    args_.width_in = static_cast<std::size_t>(in_shape_[3]);
    args_.width_out = static_cast<std::size_t>(out_shape_[3]);
    args_.kernel_h = static_cast<std::size_t>(axes_[0].kernel * axes_[1].kernel);
    args_.kernel_w = static_cast<std::size_t>(axes_[2].kernel);
    args_.stride_w = static_cast<std::size_t>(axes_[2].stride);
    args_.dilation_w = static_cast<std::size_t>(axes_[2].dilation);
    args_.pad_left = static_cast<std::size_t>(axes_[2].pad_begin);
    args_.channels = static_cast<std::size_t>(in_shape_[4]);
    args_.in_pixel_stride = args_.out_pixel_stride = in_shape_[4];
    args_.column_counts = counts_[2].data();
  }

  void run(const StepContext& step) const override {
    const Interval rows = rows_.of(step);
    VolumeRow at(out_shape_, rows.begin);
    for (std::int64_t row = rows.begin; row < rows.end; ++row, at.next()) {
      volume_tap_rows(axes_, in_shape_, whole(step, in_), at, step.pointers);
      float* out = whole(step, out_) + row * out_shape_[3] * out_shape_[4];
      const float count = counts_[0][static_cast<std::size_t>(at.plane)] * counts_[1][static_cast<std::size_t>(at.row)];
      kernels::pool::Args args = args_;
      args.in_rows = step.pointers;
      args.out_rows = &out;
      args.row_counts = &count;
      kernel_.run(args);
    }
  }

  std::size_t pointer_count(std::int64_t) const override { return args_.kernel_h; }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::pool::Kernel& kernel_;
  ValueOf<float> in_, out_;
  VolumeWindow axes_;
  Shape in_shape_, out_shape_;
  Shared rows_;
  std::vector<std::vector<float>> counts_;  ///< by axis, of its positions
  kernels::pool::Args args_;                ///< all but the rows
};

Match match(const Candidate& node) {
  const Pool* pool = std::get_if<Pool>(&node.node.op);
  const Shape& in = node.input_shape(0);
  if (pool == nullptr || (in.size() != 5 && in.size() != 3) || pool->kind == PoolKind::lp) return refuse();
  if (node.node.outputs.size() > 1 && node.node.outputs[1] != kAbsent) return refuse();
  VolumeWindow axes = volume_window(window_axes(*pool, std::span(in).subspan(1, in.size() - 2)));
  const std::int64_t most = std::max(axes[0].kernel, axes[1].kernel);
  if (most > kMostWindowRows || axes[0].kernel * axes[1].kernel > kMostWindowRows)
    return refuse("windows of too many rows");
  return take(Form::of(std::move(axes)));
}

std::int64_t units(const Chosen& node) { return volume_rows(volume_of(node.output_shape())).units(); }

Effort effort(const Chosen& node, const Rates& rates) {
  double taps = 1;
  for (const WindowAxis& axis : node.form<VolumeWindow>()) taps *= static_cast<double>(axis.kernel);
  return {rates.seconds(Work::pool, flop_of(node.graph, node.node), taps)};
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<PoolVolumeOp>(context, std::get<Pool>(context.node.op));
}

}  // namespace

constinit const Family families::pool_volume = whole_family({.name = "pool_volume",
                                                             .types = kFloats,
                                                             .match = match,
                                                             .units = units,
                                                             .effort = effort,
                                                             .weights_bytes = no_bytes,
                                                             .workspace_bytes = no_bytes,
                                                             .lower = lower});

}  // namespace colonnade
