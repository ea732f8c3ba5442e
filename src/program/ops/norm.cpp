// SPDX-License-Identifier: Apache-2.0
// Softmax, normalisations and reductions.
#include "kernels/norm/norm.hpp"

#include "base/checked.hpp"
#include "program/lower.hpp"
#include "program/ops/rows.hpp"

namespace colonnade {
namespace {

using kernels::norm::Reduction;

constexpr std::int64_t kUnitChannels = 16;

/// A kernel over the channels of each pixel, row by row: `Args` has pixels, channels, in, out and pixel strides.
template <class Args, auto Member>
class PixelOp final : public RowOp {
 public:
  PixelOp(const LowerContext& context, const Args& prototype)
      : kernel_(kernels::norm::select(context.isa)),
        prototype_(prototype),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        shape_(row_shape(context.output_shape())) {}

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    Args args = prototype_;
    args.channels = static_cast<std::size_t>(shape_.channels);
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    const std::int64_t width = out.width();
    for (std::int64_t r = step.row_begin; r < step.row_end;) {
      const std::int64_t end = run_end({&in, &out}, r, step.row_end, width);
      args.pixels = static_cast<std::size_t>((end - r) * width);
      args.in = in.at(r, out.column_begin());
      args.out = out(r);
      (kernel_.*Member)(args);
      r = end;
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::norm::Kernel& kernel_;
  Args prototype_;
  ValueId in_, out_;
  RowShape shape_;
};

Reduction reduction_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum: return Reduction::sum;
    case ReduceKind::mean: return Reduction::mean;
    case ReduceKind::max: return Reduction::max;
    case ReduceKind::min: return Reduction::min;
    default: fail(ErrorCode::internal, "reduction '{}' has no kernel", name_of(kind));
  }
}

class ReduceWidthOp final : public RowOp {
 public:
  explicit ReduceWidthOp(const LowerContext& context)
      : kernel_(kernels::norm::select(context.isa)),
        op_(reduction_of(std::get<Reduce>(context.node.op).kind)),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        shape_(row_shape(context.input_shape(0))) {}

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    kernels::norm::ReduceArgs args;
    args.op = op_;
    args.pixels = static_cast<std::size_t>(shape_.width);
    args.channels = static_cast<std::size_t>(shape_.channels);
    args.in_pixel_stride = in.pixel_stride();
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r) {
      args.in = in(r);
      args.out = out(r);
      kernel_.reduce(args);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::norm::Kernel& kernel_;
  Reduction op_;
  ValueId in_, out_;
  RowShape shape_;
};

/// Reduction over adjacent axes of a whole tensor; units are the outer indices.
class ReduceOp final : public RowOp {
 public:
  explicit ReduceOp(const LowerContext& context)
      : kernel_(kernels::norm::select(context.isa)),
        op_(reduction_of(std::get<Reduce>(context.node.op).kind)),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        axes_(*reduced_axes_of(context.input_shape(0), *constant_ints(context.graph, context.node, 1), context.node)) {}

  void run(const StepContext& step) const override {
    kernels::norm::ReduceArgs args;
    args.op = op_;
    args.pixels = static_cast<std::size_t>(axes_.reduced);
    args.channels = static_cast<std::size_t>(axes_.inner);
    args.in_pixel_stride = axes_.inner;
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit) {
      args.in = whole(step, in_) + unit * axes_.reduced * axes_.inner;
      args.out = whole(step, out_) + unit * axes_.inner;
      kernel_.reduce(args);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::norm::Kernel& kernel_;
  Reduction op_;
  ValueId in_, out_;
  ReducedAxes axes_;
};

/// Units are blocks of channels of an image.
class InstanceNormOp final : public RowOp {
 public:
  InstanceNormOp(const LowerContext& context, const InstanceNorm& norm)
      : kernel_(kernels::norm::select(context.isa)),
        epsilon_(norm.epsilon),
        scale_(context.constant(1)),
        bias_(context.constant(2)),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]) {
    const Shape& shape = context.input_shape(0);
    channels_ = shape.back();
    pixels_ = element_count(shape) / (shape.front() * channels_);
  }

  void run(const StepContext& step) const override {
    const std::int64_t blocks = ceil_div(channels_, kUnitChannels);
    kernels::norm::InstanceNormArgs args;
    args.pixels = static_cast<std::size_t>(pixels_);
    args.in_pixel_stride = args.out_pixel_stride = channels_;
    args.epsilon = epsilon_;
    args.scratch = step.scratch;
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit) {
      const std::int64_t image = unit / blocks, channel = unit % blocks * kUnitChannels,
                         offset = image * pixels_ * channels_ + channel;
      args.channels = static_cast<std::size_t>(std::min(kUnitChannels, channels_ - channel));
      args.in = whole(step, in_) + offset;
      args.out = whole(step, out_) + offset;
      args.scale = scale_ + channel;
      args.bias = bias_ + channel;
      kernel_.instance_norm(args);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::norm::Kernel& kernel_;
  float epsilon_;
  const float* scale_;
  const float* bias_;
  ValueId in_, out_;
  std::int64_t channels_ = 1, pixels_ = 1;
};

}  // namespace

std::unique_ptr<RowOp> lower_softmax(const LowerContext& context) {
  kernels::norm::SoftmaxArgs args;
  args.log = std::get<Softmax>(context.node.op).log;
  return std::make_unique<PixelOp<kernels::norm::SoftmaxArgs, &kernels::norm::Kernel::softmax>>(context, args);
}

std::unique_ptr<RowOp> lower_layer_norm(const LowerContext& context) {
  const auto& norm = std::get<LayerNorm>(context.node.op);
  kernels::norm::LayerNormArgs args;
  args.scale = context.constant(1);
  args.bias = context.constant(2);
  args.epsilon = norm.epsilon;
  args.rms = norm.rms;
  return std::make_unique<PixelOp<kernels::norm::LayerNormArgs, &kernels::norm::Kernel::layer_norm>>(context, args);
}

std::unique_ptr<RowOp> lower_lrn(const LowerContext& context) {
  const auto& lrn = std::get<Lrn>(context.node.op);
  kernels::norm::LrnArgs args;
  args.size = static_cast<std::size_t>(lrn.size);
  args.alpha = lrn.alpha;
  args.beta = lrn.beta;
  args.bias = lrn.bias;
  return std::make_unique<PixelOp<kernels::norm::LrnArgs, &kernels::norm::Kernel::lrn>>(context, args);
}

std::unique_ptr<RowOp> lower_reduce_width(const LowerContext& context) {
  return std::make_unique<ReduceWidthOp>(context);
}
std::unique_ptr<RowOp> lower_reduce(const LowerContext& context) { return std::make_unique<ReduceOp>(context); }
std::unique_ptr<RowOp> lower_instance_norm(const LowerContext& context) {
  return std::make_unique<InstanceNormOp>(context, std::get<InstanceNorm>(context.node.op));
}

}  // namespace colonnade
