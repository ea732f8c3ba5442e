// SPDX-License-Identifier: Apache-2.0
// Convolution of each channel by itself.
#include "families/depthwise.hpp"

#include "families/common.hpp"
#include "families/dense_conv.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "families/window.hpp"
#include "graph/contraction.hpp"
#include "kernels/depthwise/depthwise.hpp"

namespace colonnade {
namespace {

class DepthwiseOp final : public RowOp {
 public:
  DepthwiseOp(const LowerContext& context, const Conv& conv)
      : kernel_(kernels::depthwise::select(context.features)),
        window_(context.form<Window>()),
        chunks_(context.chunks),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        in_shape_(row_shape(context.input_shape(0))),
        out_shape_(row_shape(context.output_shape())) {
    if (!context.input(1).constant) computed_weights_ = context.in<float>(1);
    if (context.has_input(2) && !context.input(2).constant) computed_bias_ = context.in<float>(2);
    if (!computed_weights_) weights_ = context.packed(1, "depthwise", pack_depthwise);
    bias_ = context.floats(2);
    const LoweredEpilogue lowered = lower_epilogue(context, conv.epilogue, 3);
    epilogue_ = lowered.epilogue;
    residual_ = lowered.residual;
  }

  void run(const StepContext& step) const override {
    const std::int64_t rows = step.row_end - step.row_begin, chunk = std::max<std::int64_t>(0, step.chunk);
    const std::int64_t offset = step.chunk < 0 ? 0 : chunks_.begin(step.chunk);
    const float** in_rows = step.pointers;
    const float** out_rows = in_rows + rows * window_.kernel_h;
    const float** residual_rows = out_rows + rows;
    const Rows in(step, in_, chunk), out(step, out_, chunk), residual(step, residual_, 0);
    const RowWindow row_window(in, out, window_.stride_w, window_.pad_left);
    tap_rows(in, window_, row_window.skip, step.row_begin, step.row_end, in_shape_.rows, in_rows);
    for (std::int64_t i = 0; i < rows * window_.kernel_h; ++i)
      if (in_rows[i] != nullptr && !in.in_chunks()) in_rows[i] += offset;
    for (std::int64_t r = 0; r < rows; ++r) out_rows[r] = out(step.row_begin + r) + (out.in_chunks() ? 0 : offset);
    for (std::int64_t r = 0; residual && r < rows; ++r)
      residual_rows[r] = residual.at(step.row_begin + r, out.column_begin());
    kernels::depthwise::Args args;
    args.rows = static_cast<std::size_t>(rows);
    args.in_rows = in_rows;
    args.out_rows = const_cast<float**>(out_rows);
    args.residual_rows = residual ? residual_rows : nullptr;
    args.width_in = static_cast<std::size_t>(row_window.width_in);
    args.width_out = static_cast<std::size_t>(row_window.width_out);
    args.kernel_h = static_cast<std::size_t>(window_.kernel_h);
    args.kernel_w = static_cast<std::size_t>(window_.kernel_w);
    args.stride_w = static_cast<std::size_t>(window_.stride_w);
    args.dilation_w = static_cast<std::size_t>(window_.dilation_w);
    args.pad_left = static_cast<std::size_t>(row_window.pad_left);
    args.channels = static_cast<std::size_t>(step.chunk < 0 ? out_shape_.channels : chunks_.size(step.chunk));
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    args.residual_pixel_stride = residual.pixel_stride();
    args.weights = (computed_weights_ ? whole(step, computed_weights_) : weights_) + offset;
    args.weight_stride = out_shape_.channels;
    const float* bias = computed_bias_ ? whole(step, computed_bias_) : bias_;
    args.bias = bias ? bias + offset : nullptr;
    args.epilogue = epilogue_;
    kernel_.run(args);
  }

  std::size_t pointer_count(std::int64_t rows) const override {
    return static_cast<std::size_t>(rows * (window_.kernel_h + 2));
  }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::depthwise::Kernel& kernel_;
  Window window_;
  ChunkInfo chunks_;
  ValueOf<float> in_, out_, residual_;
  ValueOf<float> computed_weights_, computed_bias_;  ///< of 1x1 windows
  RowShape in_shape_, out_shape_;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  kernels::Epilogue epilogue_;
};

Match match(const Candidate& node) {
  const Conv* conv = std::get_if<Conv>(&node.node.op);
  if (conv == nullptr || node.input_shape(0).size() != 4) return refuse();
  const std::int64_t channels = node.input_shape(0)[3];
  if (conv->groups != channels || node.output_shape()[3] != channels) return refuse();
  const bool scales = conv->kernel == Ints{1, 1};  // its weights need no packing
  const bool constants = node.constant(1) && node.constant_or_absent(2);
  if (!scales && (conv->groups == 1 || !constants)) return refuse();
  return take(Form::of(window_of(node, *conv)));
}

Effort effort(const Chosen& node, const Rates& rates) {
  const Window& window = node.form<Window>();
  return {rates.seconds(Work::depthwise, flop_of(node.graph, node.node),
                        static_cast<double>(window.kernel_h * window.kernel_w))};
}

ColumnWindow columns(const Chosen& node) { return conv_columns(node, node.form<Window>()); }

ChunkRule chunks(const Chosen& node) {
  const FusedEpilogue& epilogue = std::get<Conv>(node.node.op).epilogue;
  const bool by_itself = !epilogue.residual && !epilogue.prelu_slope;
  return {.carries = by_itself, .share = by_itself ? kPanel : 0};
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<DepthwiseOp>(context, std::get<Conv>(context.node.op));
}

}  // namespace

WeightMemory pack_depthwise(const Constant& weight, WeightRoom& room) {
  const std::int64_t channels = weight.shape()[0], taps = element_count(std::span(weight.shape()).subspan(2));
  WeightMemory packed = room.take(static_cast<std::size_t>(channels * taps) * sizeof(float));
  weight.for_each_rows(1, [&](std::span<const float> elements, std::int64_t first) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      packed.floats()[at % taps * channels + first + at / taps] = elements[i];
    }
  });
  return packed;
}

constinit const Family families::depthwise{.name = "depthwise",
                                           .scope = Scope::rows,
                                           .border = Border::none,
                                           .types = kFloats,
                                           .match = match,
                                           .units = one_unit,
                                           .effort = effort,
                                           .weights_bytes = weight_bytes,
                                           .workspace_bytes = no_bytes,
                                           .window = columns,
                                           .chunks = chunks,
                                           .placements = no_placements,
                                           .tell = nothing_told,
                                           .lower = lower};

}  // namespace colonnade
