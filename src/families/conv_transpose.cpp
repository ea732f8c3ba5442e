// SPDX-License-Identifier: Apache-2.0
// Transposed convolution by sub-pixel phases: the outputs at one position modulo the stride are a dense convolution of
// the input with the kernel taps of that phase (Shi et al., "Is the deconvolution layer the same as a convolutional
// layer?", 2016).
#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/contraction.hpp"
#include "families/dense_conv.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/depthwise/depthwise.hpp"
#include "kernels/gemm/gemm.hpp"

namespace colonnade {
namespace {

/// One axis of one phase: `taps` kernel taps; output `first + m * stride` reads inputs m + shift ... m + shift + taps
/// - 1.
struct Phase {
  std::int64_t taps = 0, first = 0, shift = 0;
};

Phase phase_of(std::int64_t phase, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  Phase result;
  result.taps = phase < kernel ? (kernel - phase + stride - 1) / stride : 0;
  result.first = ((phase - pad) % stride + stride) % stride;
  result.shift = (result.first + pad - phase) / stride - (result.taps - 1);
  return result;
}

/// Weights [in, out / groups, kh, kw] as [phase_y][phase_x][group] of packed [taps_y][taps_x][in / groups][out /
/// groups].
WeightMemory pack_phases(const Tensor& weight, std::int64_t groups, std::int64_t stride_h, std::int64_t stride_w,
                         WeightRoom& room) {
  const Shape& shape = weight.shape();
  const std::int64_t channels = shape[0] / groups, n = shape[1], kh = shape[2], kw = shape[3];
  const auto taps_of = [&](std::int64_t py, std::int64_t px) {
    return phase_of(py, kh, stride_h, 0).taps * phase_of(px, kw, stride_w, 0).taps;
  };
  const auto floats_of = [&](std::int64_t taps) {
    return kernels::gemm::packed_floats(kernels::Encoding::f32, static_cast<std::size_t>(taps * channels),
                                        static_cast<std::size_t>(n));
  };
  std::size_t floats = 0;
  for (std::int64_t py = 0; py < stride_h; ++py)
    for (std::int64_t px = 0; px < stride_w; ++px)
      floats += static_cast<std::size_t>(groups) * floats_of(taps_of(py, px));
  WeightMemory packed = room.take(floats * sizeof(float));
  float* next = packed.floats();
  for (std::int64_t py = 0; py < stride_h; ++py)
    for (std::int64_t px = 0; px < stride_w; ++px)
      for (std::int64_t g = 0; g < groups; ++g) {
        const std::int64_t taps_y = phase_of(py, kh, stride_h, 0).taps, taps_x = phase_of(px, kw, stride_w, 0).taps;
        const float* filters = weight.values<float>().data() + g * channels * n * kh * kw;
        for (std::int64_t o = 0; o < n; o += kPanel)
          for (std::int64_t ty = taps_y - 1; ty >= 0; --ty)
            for (std::int64_t tx = taps_x - 1; tx >= 0; --tx, next += channels * kPanel)
              kernels::gemm::pack(filters + (o * kh + py + ty * stride_h) * kw + px + tx * stride_w, n * kh * kw,
                                  kh * kw, static_cast<std::size_t>(channels),
                                  static_cast<std::size_t>(std::min(kPanel, n - o)), next);
      }
  return packed;
}

/// Weights [channels, 1, kh, kw] as [phase_y][phase_x][taps_y][taps_x][channels].
WeightMemory pack_depthwise_phases(const Tensor& weight, std::int64_t stride_h, std::int64_t stride_w,
                                   WeightRoom& room) {
  const std::int64_t channels = weight.shape()[0], kh = weight.shape()[2], kw = weight.shape()[3];
  WeightMemory packed = room.take(static_cast<std::size_t>(weight.size()) * sizeof(float));
  float* next = packed.floats();
  for (std::int64_t py = 0; py < stride_h; ++py)
    for (std::int64_t px = 0; px < stride_w; ++px)
      for (std::int64_t ty = phase_of(py, kh, stride_h, 0).taps - 1; ty >= 0; --ty)
        for (std::int64_t tx = phase_of(px, kw, stride_w, 0).taps - 1; tx >= 0; --tx)
          for (std::int64_t c = 0; c < channels; ++c)
            *next++ =
                weight
                    .values<float>()[static_cast<std::size_t>((c * kh + py + ty * stride_h) * kw + px + tx * stride_w)];
  return packed;
}

class ConvTransposeOp final : public RowOp {
 public:
  ConvTransposeOp(const LowerContext& context, const ConvTranspose& conv)
      : kernel_(kernels::gemm::select(context.features, kernels::Encoding::f32)),
        by_channel_(kernels::depthwise::select(context.features)),
        chunks_(context.chunks),
        groups_(conv.groups),
        kernel_h_(conv.kernel[0]),
        kernel_w_(conv.kernel[1]),
        stride_h_(conv.strides[0]),
        stride_w_(conv.strides[1]),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        in_shape_(row_shape(context.input_shape(0))),
        out_shape_(row_shape(context.output_shape())) {
    const Shape& in = context.input_shape(0);
    const Ints pads = resolve_pads(conv, std::span(in).subspan(1, 2));
    pad_top_ = pads[0];
    pad_left_ = pads[1];
    depthwise_ = groups_ > 1 && channels_in() == 1 && channels_out() == 1;
    const std::string format = (depthwise_ ? "conv_transpose/depthwise/" : "conv_transpose/") +
                               std::to_string(groups_) + "/" + std::to_string(stride_h_) + "x" +
                               std::to_string(stride_w_);
    weights_ = context.packed(1, format, [&](const Tensor& weight, WeightRoom& room) {
      return depthwise_ ? pack_depthwise_phases(weight, stride_h_, stride_w_, room)
                        : pack_phases(weight, groups_, stride_h_, stride_w_, room);
    });
    bias_ = context.floats(2);
    const LoweredEpilogue lowered = lower_epilogue(context, conv.epilogue, 3);
    epilogue_ = lowered.epilogue;
    residual_ = lowered.residual;
  }

  void run(const StepContext& step) const override {
    const float* weights = weights_;
    for (std::int64_t py = 0; py < stride_h_; ++py) {
      const Phase rows = phase_of(py, kernel_h_, stride_h_, pad_top_);
      for (std::int64_t px = 0; px < stride_w_; ++px) {
        const Phase columns = phase_of(px, kernel_w_, stride_w_, pad_left_);
        run_phase(step, rows, columns, weights);
        weights += weights_of(rows.taps * columns.taps);
      }
    }
  }

  std::size_t pointer_count(std::int64_t rows) const override {
    return static_cast<std::size_t>(rows * (kernel_h_ + 3));
  }
  std::string_view kernel() const override { return depthwise_ ? by_channel_.name : kernel_.name; }

 private:
  /// Floats of the packed weights of so many taps.
  std::size_t weights_of(std::int64_t taps) const {
    if (depthwise_) return static_cast<std::size_t>(taps * groups_);
    return static_cast<std::size_t>(groups_) *
           kernels::gemm::packed_floats(kernels::Encoding::f32, static_cast<std::size_t>(taps * channels_in()),
                                        static_cast<std::size_t>(channels_out()));
  }

  void run_kernel(const kernels::gemm::ConvArgs& a) const {
    if (!depthwise_) return kernel_.run(a);
    kernels::depthwise::Args args;
    args.rows = a.rows;
    args.in_rows = a.in_rows;
    args.out_rows = a.out_rows;
    args.residual_rows = a.residual_rows;
    args.width_in = a.width_in;
    args.width_out = a.width_out;
    args.kernel_h = a.kernel_h;
    args.kernel_w = a.kernel_w;
    args.pad_left = a.pad_left;
    args.channels = a.groups;
    args.in_pixel_stride = a.in_pixel_stride;
    args.out_pixel_stride = a.out_pixel_stride;
    args.residual_pixel_stride = a.residual_pixel_stride;
    args.weights = a.weights;
    args.weight_stride = groups_;
    args.bias = a.bias;
    args.epilogue = a.epilogue;
    by_channel_.run(args);
  }

  std::int64_t channels_in() const { return in_shape_.channels / groups_; }
  std::int64_t channels_out() const { return out_shape_.channels / groups_; }

  void run_phase(const StepContext& step, const Phase& rows, const Phase& columns, const float* weights) const {
    const bool empty = rows.taps == 0 || columns.taps == 0;
    const std::int64_t taps_y = empty ? 1 : rows.taps, skipped = empty ? 0 : std::max<std::int64_t>(0, columns.shift);
    const Rows in(step, in_, 0), out(step, out_, 0), residual(step, residual_, 0);
    const std::int64_t most = step.row_end - step.row_begin, channel = step.chunk < 0 ? 0 : chunks_.begin(step.chunk);
    const float** in_rows = step.pointers;
    const float** out_rows = in_rows + most * taps_y;
    const float** residual_rows = out_rows + most;
    std::int64_t count = 0;
    const std::int64_t offset = (step.row_begin - rows.first) % stride_h_;
    for (std::int64_t r = step.row_begin + (offset == 0  ? 0
                                            : offset > 0 ? stride_h_ - offset
                                                         : -offset);
         r < step.row_end; r += stride_h_, ++count) {
      for (std::int64_t t = 0; t < taps_y; ++t) {
        const std::int64_t y = (r - rows.first) / stride_h_ + rows.shift + t;
        const bool outside = empty || y < 0 || y >= in_shape_.rows;
        in_rows[count * taps_y + t] = outside ? nullptr : in(y) + skipped * in.pixel_stride();
      }
      out_rows[count] = out(r) + columns.first * out.pixel_stride() + channel;
      if (residual) residual_rows[count] = residual(r) + columns.first * residual.pixel_stride() + channel;
    }
    if (count == 0 || columns.first >= out_shape_.width || skipped > in_shape_.width) return;
    kernels::gemm::ConvArgs args;
    args.rows = static_cast<std::size_t>(count);
    args.in_rows = in_rows;
    args.out_rows = const_cast<float**>(out_rows);
    args.residual_rows = residual ? residual_rows : nullptr;
    args.width_in = static_cast<std::size_t>(in_shape_.width - skipped);
    args.width_out = static_cast<std::size_t>(ceil_div(out_shape_.width - columns.first, stride_w_));
    args.kernel_h = static_cast<std::size_t>(taps_y);
    args.kernel_w = static_cast<std::size_t>(empty ? 1 : columns.taps);
    args.pad_left = static_cast<std::size_t>(empty ? 0 : std::max<std::int64_t>(0, -columns.shift));
    args.groups = static_cast<std::size_t>(groups_);
    args.channels_in = static_cast<std::size_t>(channels_in());
    args.channels_out = static_cast<std::size_t>(channels_out());
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride() * stride_w_;
    args.residual_pixel_stride = residual.pixel_stride() * stride_w_;
    args.weights = weights;
    args.panel_stride = args.kernel_h * args.kernel_w * args.channels_in * kernels::gemm::kPanel;
    args.bias = bias_;
    args.epilogue = epilogue_;
    if (step.chunk >= 0) cut_chunk(step.chunk, args);
    run_kernel(args);
  }

  /// Threads divide the output channels.
  void cut_chunk(std::int64_t chunk, kernels::gemm::ConvArgs& args) const {
    const std::int64_t begin = chunks_.begin(chunk);
    args.weights += static_cast<std::size_t>(begin / kPanel) * args.panel_stride;
    args.channels_out = static_cast<std::size_t>(chunks_.size(chunk));
    if (args.bias) args.bias += begin;
    if (args.epilogue.activation.slope) args.epilogue.activation.slope += begin;
  }

  const kernels::gemm::Kernel& kernel_;
  const kernels::depthwise::Kernel& by_channel_;
  ChunkInfo chunks_;
  bool depthwise_ = false;
  std::int64_t groups_, kernel_h_, kernel_w_, stride_h_, stride_w_, pad_top_ = 0, pad_left_ = 0;
  ValueOf<float> in_, out_, residual_;
  RowShape in_shape_, out_shape_;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  kernels::Epilogue epilogue_;
};

Match match(const Candidate& node) {
  const ConvTranspose* conv = std::get_if<ConvTranspose>(&node.node.op);
  if (conv == nullptr) return refuse();
  if (const std::string reason = dense_refusal(node); !reason.empty()) return refuse(reason);
  return conv->dilations == Ints{1, 1} ? take() : refuse("dilated transposed convolution");
}

Effort effort(const Chosen& node, const Rates& rates) { return {contraction_seconds(node, 1, rates)}; }

ChunkRule chunks(const Chosen& node) {
  return {.share = std::get<ConvTranspose>(node.node.op).groups == 1 ? kPanel : 0};
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<ConvTransposeOp>(context, std::get<ConvTranspose>(context.node.op));
}

}  // namespace

constinit const Family families::conv_transpose = {.name = "conv_transpose",
                                                   .scope = Scope::rows,
                                                   .border = Border::none,
                                                   .types = kFloats,
                                                   .match = match,
                                                   .units = one_unit,
                                                   .effort = effort,
                                                   .weights_bytes = weight_bytes,
                                                   .workspace_bytes = no_bytes,
                                                   .window = no_window,
                                                   .chunks = chunks,
                                                   .placements = no_placements,
                                                   .tell = nothing_told,
                                                   .lower = lower};

}  // namespace colonnade
