// SPDX-License-Identifier: Apache-2.0
// Softmax and normalisations.
#include "kernels/norm/norm.hpp"

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kUnitChannels = 16;

/// A kernel over the channels of each pixel, row by row: `Args` has pixels, channels, in, out and pixel strides.
template <class Args, auto Member>
class PixelOp final : public RowOp {
 public:
  PixelOp(const LowerContext& context, const Args& prototype)
      : kernel_(kernels::norm::select(context.features)),
        prototype_(prototype),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
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
  ValueOf<float> in_, out_;
  RowShape shape_;
};

/// Units are blocks of channels of an image.
class InstanceNormOp final : public RowOp {
 public:
  InstanceNormOp(const LowerContext& context, const InstanceNorm& norm)
      : kernel_(kernels::norm::select(context.features)),
        epsilon_(norm.epsilon),
        scale_(context.floats(1)),
        bias_(context.floats(2)),
        in_(context.in<float>(0)),
        out_(context.out<float>()) {
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
  ValueOf<float> in_, out_;
  std::int64_t channels_ = 1, pixels_ = 1;
};

Match match_softmax(const Candidate& node) {
  const auto* op = std::get_if<Softmax>(&node.node.op);
  if (op == nullptr) return refuse();
  return is_last(op->axis, node.input_shape(0)) ? take() : refuse("softmax over an outer axis");
}

Match match_layer_norm(const Candidate& node) {
  const auto* op = std::get_if<LayerNorm>(&node.node.op);
  if (op == nullptr) return refuse();
  const bool constants = node.constant(1) && node.constant_or_absent(2);
  const bool single = node.node.outputs.size() == 1;
  if (!constants || !single || !is_last(op->axis, node.input_shape(0))) return refuse("normalises over several axes");
  for (const std::size_t input : {1, 2})
    if (node.has_input(input) && element_count(node.input_shape(input)) != node.input_shape(0).back())
      return refuse("scale or bias are not one a channel");
  return take();
}

Match match_lrn(const Candidate& node) {
  const auto* op = std::get_if<Lrn>(&node.node.op);
  if (op == nullptr) return refuse();
  return is_last(op->axis, node.input_shape(0)) ? take() : refuse("channels are not innermost");
}

Match match_instance_norm(const Candidate& node) {
  const auto* op = std::get_if<InstanceNorm>(&node.node.op);
  if (op == nullptr) return refuse();
  const bool constants = node.constant(1) && node.constant(2);
  return constants && is_last(op->axis, node.input_shape(0)) ? take() : refuse("channels are not innermost");
}

std::int64_t channel_blocks(const Chosen& node) {
  return node.input_shape(0).front() * ceil_div(node.input_shape(0).back(), kUnitChannels);
}

std::int64_t instance_norm_bytes(const Chosen& node) {
  return 2 * node.input_shape(0).back() * static_cast<std::int64_t>(sizeof(float));
}

std::unique_ptr<RowOp> lower_softmax(const LowerContext& context) {
  kernels::norm::SoftmaxArgs args;
  args.log = std::get<Softmax>(context.node.op).log;
  return std::make_unique<PixelOp<kernels::norm::SoftmaxArgs, &kernels::norm::Kernel::softmax>>(context, args);
}

std::unique_ptr<RowOp> lower_layer_norm(const LowerContext& context) {
  const auto& norm = std::get<LayerNorm>(context.node.op);
  kernels::norm::LayerNormArgs args;
  args.scale = context.floats(1);
  args.bias = context.floats(2);
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

std::unique_ptr<RowOp> lower_instance_norm(const LowerContext& context) {
  return std::make_unique<InstanceNormOp>(context, std::get<InstanceNorm>(context.node.op));
}

}  // namespace

constinit const Family families::softmax = {.name = "softmax",
                                            .scope = Scope::rows,
                                            .border = Border::none,
                                            .types = kFloats,
                                            .match = match_softmax,
                                            .units = one_unit,
                                            .effort = element_effort<Work::normalise>,
                                            .weights_bytes = no_bytes,
                                            .workspace_bytes = no_bytes,
                                            .window = same_columns,
                                            .chunks = no_chunks,
                                            .placements = no_placements,
                                            .tell = nothing_told,
                                            .lower = lower_softmax};

constinit const Family families::layer_norm = {.name = "layer_norm",
                                               .scope = Scope::rows,
                                               .border = Border::none,
                                               .types = kFloats,
                                               .match = match_layer_norm,
                                               .units = one_unit,
                                               .effort = element_effort<Work::normalise>,
                                               .weights_bytes = no_bytes,
                                               .workspace_bytes = no_bytes,
                                               .window = same_columns,
                                               .chunks = no_chunks,
                                               .placements = no_placements,
                                               .tell = nothing_told,
                                               .lower = lower_layer_norm};

constinit const Family families::lrn = {.name = "lrn",
                                        .scope = Scope::rows,
                                        .border = Border::none,
                                        .types = kFloats,
                                        .match = match_lrn,
                                        .units = one_unit,
                                        .effort = element_effort<Work::normalise>,
                                        .weights_bytes = no_bytes,
                                        .workspace_bytes = no_bytes,
                                        .window = same_columns,
                                        .chunks = no_chunks,
                                        .placements = no_placements,
                                        .tell = nothing_told,
                                        .lower = lower_lrn};

constinit const Family families::instance_norm = whole_family({.name = "instance_norm",
                                                               .types = kFloats,
                                                               .match = match_instance_norm,
                                                               .units = channel_blocks,
                                                               .effort = element_effort<Work::normalise>,
                                                               .weights_bytes = no_bytes,
                                                               .workspace_bytes = instance_norm_bytes,
                                                               .lower = lower_instance_norm});

}  // namespace colonnade
