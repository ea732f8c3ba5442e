// SPDX-License-Identifier: Apache-2.0
// Poolings whose windows are walked tap by tap, over any number of axes: the largest with its index, and sums of
// powers. Units are the outermost positions of each image.
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/pool/pool.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kMostTaps = 1 << 12, kMostPower = 64;

/// Elements along one axis that the windows of its positions see.
struct AxisWindows {
  std::vector<std::vector<std::int64_t>> seen;  ///< by output position, times the elements of a step along the axis
};

class PoolTapsOp final : public RowOp {
 public:
  PoolTapsOp(const LowerContext& context, const Pool& pool)
      : kernel_(kernels::pool::select(context.features)),
        indexed_(pool.kind == PoolKind::max),
        in_(context.in<float>(0)),
        out_(context.out<float>()) {
    const Shape &in = context.input_shape(0), &out = context.output_shape();
    if (indexed_) indices_ = context.out<std::int64_t>(1);
    power_ = static_cast<int>(pool.p);
    channels_ = in.back();
    const std::size_t axes = in.size() - 2;
    const Ints pads = resolve_pads(pool, std::span(in).subspan(1, axes));
    for (std::size_t i = axes; i-- > 0; pixels_ *= in[i + 1]) {
      const std::int64_t stride = pool.strides.empty() ? 1 : pool.strides[i],
                         dilation = pool.dilations.empty() ? 1 : pool.dilations[i];
      AxisWindows windows;
      for (std::int64_t position = 0; position < out[i + 1]; ++position) {
        auto& seen = windows.seen.emplace_back();
        for (std::int64_t k = 0; k < pool.kernel[i]; ++k) {
          const std::int64_t x = position * stride - pads[i] + k * dilation;
          if (x >= 0 && x < in[i + 1]) seen.push_back(x * pixels_);
        }
      }
      axes_.insert(axes_.begin(), std::move(windows));
      taps_ *= pool.kernel[i];
    }
    for (std::size_t i = 1; i < axes; ++i) row_ *= out[i + 1];
  }

  void run(const StepContext& step) const override {
    auto* positions = reinterpret_cast<std::int32_t*>(step.scratch);
    std::int32_t* found = positions + taps_;
    const auto outer = std::ssize(axes_.front().seen);
    kernels::pool::TapsArgs args;
    args.channels = static_cast<std::size_t>(channels_);
    args.in = step.pointers;
    args.positions = positions;
    args.out_positions = found;
    args.power = power_;
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit) {
      const std::int64_t image = unit / outer;
      const float* in = whole(step, in_) + image * pixels_ * channels_;
      for (std::int64_t i = 0; i < row_; ++i) {
        const std::int64_t pixel = unit * row_ + i;
        args.taps = taps_of(unit % outer * row_ + i, positions);
        for (std::size_t t = 0; t < args.taps; ++t) step.pointers[t] = in + positions[t] * channels_;
        args.out = whole(step, out_) + pixel * channels_;
        indexed_ ? kernel_.largest(args) : kernel_.powers(args);
        if (!indices_) continue;
        std::int64_t* indices = whole(step, indices_) + pixel * channels_;
        for (std::int64_t c = 0; c < channels_; ++c) indices[c] = (image * channels_ + c) * pixels_ + found[c];
      }
    }
  }

  std::size_t pointer_count(std::int64_t) const override { return static_cast<std::size_t>(taps_); }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// Writes the pixels that an output pixel sees, in order.
  std::size_t taps_of(std::int64_t pixel, std::int32_t* taps) const {
    std::size_t count = 1;
    taps[0] = 0;
    for (std::size_t axis = axes_.size(); axis-- > 0;) {
      const auto size = std::ssize(axes_[axis].seen);
      const auto& seen = axes_[axis].seen[static_cast<std::size_t>(pixel % size)];
      pixel /= size;
      for (std::size_t k = seen.size(); k-- > 0;)
        for (std::size_t t = 0; t < count; ++t) taps[k * count + t] = taps[t] + static_cast<std::int32_t>(seen[k]);
      count *= seen.size();
    }
    return count;
  }

  const kernels::pool::Kernel& kernel_;
  bool indexed_;
  ValueOf<float> in_, out_;
  ValueOf<std::int64_t> indices_;
  int power_ = 2;
  std::int64_t channels_ = 1, pixels_ = 1, taps_ = 1, row_ = 1;
  std::vector<AxisWindows> axes_;
};

Match match(const Candidate& node) {
  const Pool* pool = std::get_if<Pool>(&node.node.op);
  if (pool == nullptr) return refuse();
  const bool indexed = node.node.outputs.size() > 1 && node.node.outputs[1] != kAbsent;
  const Shape& in = node.input_shape(0);
  std::int64_t taps = 1;
  for (const std::int64_t size : pool->kernel) taps = std::min(taps * std::min(size, kMostTaps + 1), kMostTaps + 1);
  const bool sums = pool->kind == PoolKind::lp && pool->p >= 1 && pool->p <= kMostPower;
  if (node.input(0).type.dtype != DType::f32 || in.size() < 3 || !(indexed || sums)) return refuse();
  if (indexed && pool->kind != PoolKind::max) return refuse("indices of what is no maximum");
  return taps <= kMostTaps && element_count(in) < INT32_MAX ? take() : refuse("windows of too many taps");
}

std::int64_t unit_count(const Chosen& node) { return node.output_shape()[0] * node.output_shape()[1]; }

std::int64_t taps_of(const Pool& pool) {
  std::int64_t taps = 1;
  for (const std::int64_t size : pool.kernel) taps *= size;
  return taps;
}

Effort effort(const Chosen& node, const Rates& rates) {
  return {rates.seconds(Work::pool, flop_of(node.graph, node.node),
                        static_cast<double>(taps_of(std::get<Pool>(node.node.op))))};
}

std::int64_t workspace_bytes(const Chosen& node) {
  return (taps_of(std::get<Pool>(node.node.op)) + node.output_shape().back()) *
         static_cast<std::int64_t>(sizeof(std::int32_t));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<PoolTapsOp>(context, std::get<Pool>(context.node.op));
}

}  // namespace

constinit const Family families::pool_taps = whole_family({.name = "pool_taps",
                                                           .types = {DType::f32, DType::i64},
                                                           .match = match,
                                                           .units = unit_count,
                                                           .effort = effort,
                                                           .weights_bytes = no_bytes,
                                                           .workspace_bytes = workspace_bytes,
                                                           .lower = lower});

}  // namespace colonnade
