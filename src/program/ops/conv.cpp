// SPDX-License-Identifier: Apache-2.0
// Direct convolution, depthwise, transposed convolution and matrix product by rows.
#include "base/checked.hpp"
#include "kernels/depthwise/depthwise.hpp"
#include "kernels/gemm/gemm.hpp"
#include "plan/conv_choice.hpp"
#include "program/lower.hpp"
#include "program/ops/rows.hpp"
#include "program/ops/window.hpp"

namespace colonnade {
namespace {

using kernels::Encoding;
using kernels::gemm::ConvArgs;
constexpr std::int64_t kPanel = static_cast<std::int64_t>(kernels::gemm::kPanel);
constexpr auto kPiecesStep = static_cast<std::int64_t>(kernels::gemm::kPiecesStep);

/// Weights [out, in / groups, kernel...] packed group by group.
AlignedBuffer pack_conv(const Constant& weight, std::int64_t groups, Encoding encoding) {
  const bool pieces = encoding == Encoding::bf16x3;
  const Shape& shape = weight.shape();
  const std::int64_t taps = shape[2] * shape[3], channels = shape[1], n = shape[0] / groups, row = channels * taps;
  const auto k = static_cast<std::size_t>(row);
  const auto floats = static_cast<std::int64_t>(kernels::gemm::packed_floats(encoding, k, static_cast<std::size_t>(n)));
  const auto panel_floats = static_cast<std::int64_t>(kernels::gemm::panel_floats(encoding, k));
  std::vector<float> whole(pieces ? k * kernels::gemm::kPanel : 0);
  AlignedBuffer packed(static_cast<std::size_t>(floats * groups) * sizeof(float));
  weight.for_each_rows(groups == 1 ? kPanel : n, [&](std::span<const float> elements, std::int64_t first) {
    const std::int64_t end = first + static_cast<std::int64_t>(elements.size()) / row;
    for (std::int64_t o = first, width = 0; o < end; o += width) {
      width = std::min(kPanel, n - o % n);
      float* const place = packed.floats() + o / n * floats + o % n / kPanel * panel_floats;
      float* const panel = pieces ? whole.data() : place;
      for (std::int64_t t = 0; t < taps; ++t)
        kernels::gemm::pack(elements.data() + (o - first) * row + t, taps, row, static_cast<std::size_t>(channels),
                            static_cast<std::size_t>(width), panel + t * channels * kPanel);
      if (pieces) kernels::gemm::cut_pieces(panel, k, place);
    }
  });
  return packed;
}

/// A matrix [in, out], or [out, in] when transposed.
AlignedBuffer pack_matrix(const Constant& weight, bool transposed, Encoding encoding) {
  const std::int64_t k = weight.shape()[transposed ? 1 : 0], n = weight.shape()[transposed ? 0 : 1];
  const auto depth = static_cast<std::size_t>(k);
  AlignedBuffer packed(kernels::gemm::packed_floats(encoding, depth, static_cast<std::size_t>(n)) * sizeof(float));
  if (encoding == Encoding::bf16x3) {
    const auto panel_floats = static_cast<std::int64_t>(kernels::gemm::panel_floats(encoding, depth));
    std::vector<float> some;
    weight.for_each_rows(transposed ? kPanel : kPiecesStep, [&](std::span<const float> elements, std::int64_t first) {
      if (transposed) {
        const auto count = static_cast<std::int64_t>(elements.size()) / k;
        some.resize(depth * kernels::gemm::kPanel);
        for (std::int64_t o = 0; o < count; o += kPanel) {
          kernels::gemm::pack(elements.data() + o * k, 1, k, depth,
                              static_cast<std::size_t>(std::min(kPanel, count - o)), some.data());
          kernels::gemm::cut_pieces(some.data(), depth, packed.floats() + (first + o) / kPanel * panel_floats);
        }
        return;
      }
      const std::size_t rows = elements.size() / static_cast<std::size_t>(n);
      some.resize(rows * kernels::gemm::kPanel);
      for (std::int64_t o = 0; o < n; o += kPanel) {
        kernels::gemm::pack(elements.data() + o, n, 1, rows, static_cast<std::size_t>(std::min(kPanel, n - o)),
                            some.data());
        kernels::gemm::cut_pieces(
            some.data(), rows,
            packed.floats() + o / kPanel * panel_floats +
                static_cast<std::int64_t>(kernels::gemm::panel_floats(encoding, static_cast<std::size_t>(first))));
      }
    });
    return packed;
  }
  weight.for_each_rows(transposed ? kPanel : 1, [&](std::span<const float> elements, std::int64_t first) {
    if (transposed)
      return kernels::gemm::pack(elements.data(), 1, k, static_cast<std::size_t>(k),
                                 elements.size() / static_cast<std::size_t>(k), packed.floats() + first * k);
    for (std::int64_t o = 0; o < n; o += kPanel)
      kernels::gemm::pack(elements.data() + o, n, 1, elements.size() / static_cast<std::size_t>(n),
                          static_cast<std::size_t>(std::min(kPanel, n - o)), packed.floats() + o * k + first * kPanel);
  });
  return packed;
}

/// Filters [channels, 1, kernel...] as [tap][channel].
AlignedBuffer pack_depthwise(const Constant& weight) {
  const std::int64_t channels = weight.shape()[0], taps = weight.shape()[2] * weight.shape()[3];
  AlignedBuffer packed(static_cast<std::size_t>(channels * taps) * sizeof(float));
  weight.for_each_rows(1, [&](std::span<const float> elements, std::int64_t first) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      packed.floats()[at % taps * channels + first + at / taps] = elements[i];
    }
  });
  return packed;
}

class ConvOp final : public RowOp {
 public:
  ConvOp(const LowerContext& context, const Conv& conv)
      : kernel_(kernels::gemm::select(context.isa, context.encoding)),
        window_(window_of(context, conv)),
        groups_(conv.groups),
        chunks_(context.chunks),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        in_shape_(row_shape(context.input_shape(0))),
        out_shape_(row_shape(context.output_shape())),
        partial_sums_(pointwise() && takes_partial_sums(context.graph, context.node)) {
    weights_ = context.packed(1, (context.encoding == Encoding::bf16x3 ? "pieces/" : "conv/") + std::to_string(groups_),
                              [&](const Constant& weight) { return pack_conv(weight, groups_, kernel_.encoding); });
    bias_ = context.constant(2);
    const LoweredEpilogue lowered = lower_epilogue(context, conv.epilogue, 3);
    epilogue_ = lowered.epilogue;
    residual_ = lowered.residual;
  }

  ConvOp(const LowerContext& context, const MatMul& matmul)
      : kernel_(kernels::gemm::select(context.isa, context.encoding)),
        chunks_(context.chunks),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        in_shape_(row_shape(context.input_shape(0))),
        out_shape_(row_shape(context.output_shape())),
        partial_sums_(takes_partial_sums(context.graph, context.node)) {
    const bool transpose = matmul.transpose_b;
    weights_ = context.packed(
        1, std::string(context.encoding == Encoding::bf16x3 ? "pieces/" : "") + (transpose ? "matmul/t" : "matmul"),
        [&](const Constant& weight) { return pack_matrix(weight, transpose, kernel_.encoding); });
    bias_ = context.constant(2);
    const LoweredEpilogue lowered = lower_epilogue(context, matmul.epilogue, 3);
    epilogue_ = lowered.epilogue;
    residual_ = lowered.residual;
  }

  void run(const StepContext& step) const override {
    ConvArgs args = base_args(step);
    const Rows in(step, in_, input_chunk(step)), out(step, out_, output_chunk(step)), residual(step, residual_, 0);
    const RowWindow row_window(in, out, window_.stride_w, window_.pad_left);
    args.width_in = static_cast<std::size_t>(row_window.width_in);
    args.width_out = static_cast<std::size_t>(row_window.width_out);
    args.pad_left = static_cast<std::size_t>(row_window.pad_left);
    if (pointwise()) return run_pointwise(step, args, in, out, residual);
    const std::int64_t rows = step.row_end - step.row_begin;
    const float** in_rows = step.pointers;
    const float** out_rows = in_rows + rows * window_.kernel_h;
    const float** residual_rows = out_rows + rows;
    tap_rows(in, window_, row_window.skip, step.row_begin, step.row_end, in_shape_.rows, in_rows);
    for (std::int64_t r = 0; r < rows; ++r) out_rows[r] = out(step.row_begin + r) + channel_offset(step);
    for (std::int64_t r = 0; residual && r < rows; ++r)
      residual_rows[r] = residual.at(step.row_begin + r, out.column_begin()) + channel_offset(step);
    args.rows = static_cast<std::size_t>(rows);
    args.in_rows = in_rows;
    args.out_rows = const_cast<float**>(out_rows);
    args.residual_rows = residual ? residual_rows : nullptr;
    kernel_.run(args);
  }

  std::size_t pointer_count(std::int64_t rows) const override {
    return static_cast<std::size_t>(rows * (window_.kernel_h + 2) + 3);
  }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  bool pointwise() const {
    return window_.kernel_h == 1 && window_.kernel_w == 1 && window_.stride_h == 1 && window_.stride_w == 1 &&
           groups_ == 1 && window_.pad_top == 0 && window_.pad_left == 0 && in_shape_.rows == out_shape_.rows &&
           in_shape_.width == out_shape_.width;
  }
  std::int64_t input_chunk(const StepContext& step) const { return chunks_.role == ChunkRole::input ? step.chunk : 0; }
  std::int64_t output_chunk(const StepContext& step) const {
    return chunks_.role == ChunkRole::output && step.views[out_].chunk_stride ? step.chunk : 0;
  }
  /// Channels to skip in a whole output row when its channels are divided.
  std::int64_t channel_offset(const StepContext& step) const {
    return chunks_.role == ChunkRole::output && step.views[out_].chunk_stride == 0 ? chunks_.begin(step.chunk) : 0;
  }

  ConvArgs base_args(const StepContext& step) const {
    ConvArgs args;
    args.kernel_h = static_cast<std::size_t>(window_.kernel_h);
    args.kernel_w = static_cast<std::size_t>(window_.kernel_w);
    args.stride_w = static_cast<std::size_t>(window_.stride_w);
    args.dilation_w = static_cast<std::size_t>(window_.dilation_w);
    args.groups = static_cast<std::size_t>(groups_);
    args.channels_in = static_cast<std::size_t>(in_shape_.channels / groups_);
    args.channels_out = static_cast<std::size_t>(out_shape_.channels / groups_);
    args.in_pixel_stride = step.views[in_].pixel_stride;
    args.out_pixel_stride = step.views[out_].pixel_stride;
    args.residual_pixel_stride = residual_ == kAbsent ? 0 : step.views[residual_].pixel_stride;
    args.panel_stride = kernels::gemm::panel_floats(kernel_.encoding, args.kernel_h * args.kernel_w * args.channels_in);
    args.weights = weights_;
    args.bias = bias_;
    args.epilogue = epilogue_;
    args.partial_sums = partial_sums_;
    args.workspace = step.scratch;
    if (step.chunk >= 0) cut_chunk(step.chunk, args);
    return args;
  }

  void cut_chunk(std::int64_t chunk, ConvArgs& args) const {
    const std::int64_t begin = chunks_.begin(chunk), size = chunks_.size(chunk);
    if (chunks_.role == ChunkRole::output) {
      args.weights += static_cast<std::size_t>(begin / kPanel) * args.panel_stride;
      args.channels_out = static_cast<std::size_t>(size);
      if (args.bias) args.bias += begin;
      if (args.epilogue.activation.slope) args.epilogue.activation.slope += begin;
      return;
    }
    args.weights += kernels::gemm::panel_floats(kernel_.encoding, static_cast<std::size_t>(begin));
    args.channels_in = static_cast<std::size_t>(size);
    args.accumulate = chunk > 0;
    if (!chunks_.is_last(chunk)) args.epilogue = {};
  }

  /// A matrix product: rows that follow each other in memory run as one wide row.
  void run_pointwise(const StepContext& step, ConvArgs& args, const Rows& in, const Rows& out,
                     const Rows& residual) const {
    const std::int64_t width = out.width(), column = out.column_begin();
    const bool skip_residual = step.chunk >= 0 && chunks_.role == ChunkRole::input && !chunks_.is_last(step.chunk);
    const std::int64_t offset = channel_offset(step);
    for (std::int64_t r = step.row_begin; r < step.row_end;) {
      const std::int64_t end = run_end({&in, &out, &residual}, r, step.row_end, width);
      const float* in_row_pointer = in.at(r, column);
      float* out_row_pointer = out(r) + offset;
      const float* residual_pointer = residual ? residual.at(r, column) + offset : nullptr;
      args.width_in = args.width_out = static_cast<std::size_t>((end - r) * width);
      args.in_rows = &in_row_pointer;
      args.out_rows = &out_row_pointer;
      args.residual_rows = residual && !skip_residual ? &residual_pointer : nullptr;
      kernel_.run(args);
      r = end;
    }
  }

  const kernels::gemm::Kernel& kernel_;
  Window window_;
  std::int64_t groups_ = 1;
  ChunkInfo chunks_;
  ValueId in_, out_, residual_ = kAbsent;
  RowShape in_shape_, out_shape_;
  bool partial_sums_ = false;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  kernels::Epilogue epilogue_;
};

class DepthwiseOp final : public RowOp {
 public:
  DepthwiseOp(const LowerContext& context, const Conv& conv)
      : kernel_(kernels::depthwise::select(context.isa)),
        window_(window_of(context, conv)),
        chunks_(context.chunks),
        in_(context.node.inputs[0]),
        out_(context.node.outputs[0]),
        in_shape_(row_shape(context.input_shape(0))),
        out_shape_(row_shape(context.output_shape())) {
    if (!context.input(1).constant) computed_weights_ = context.node.inputs[1];
    if (context.has_input(2) && !context.input(2).constant) computed_bias_ = context.node.inputs[2];
    if (computed_weights_ == kAbsent) weights_ = context.packed(1, "depthwise", pack_depthwise);
    bias_ = context.constant(2);
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
    for (std::int64_t r = 0; r < rows; ++r) out_rows[r] = out(step.row_begin + r);
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
    args.in_pixel_stride = step.views[in_].pixel_stride;
    args.out_pixel_stride = step.views[out_].pixel_stride;
    args.residual_pixel_stride = residual ? residual.pixel_stride() : 0;
    args.weights = (computed_weights_ == kAbsent ? weights_ : whole(step, computed_weights_)) + offset;
    args.weight_stride = out_shape_.channels;
    const float* bias = computed_bias_ == kAbsent ? bias_ : whole(step, computed_bias_);
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
  ValueId in_, out_, residual_ = kAbsent;
  ValueId computed_weights_ = kAbsent, computed_bias_ = kAbsent;  ///< of 1x1 windows
  RowShape in_shape_, out_shape_;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  kernels::Epilogue epilogue_;
};

}  // namespace

std::unique_ptr<RowOp> lower_conv(const LowerContext& context) {
  return std::make_unique<ConvOp>(context, std::get<Conv>(context.node.op));
}
std::unique_ptr<RowOp> lower_matmul(const LowerContext& context) {
  return std::make_unique<ConvOp>(context, std::get<MatMul>(context.node.op));
}
std::unique_ptr<RowOp> lower_depthwise(const LowerContext& context) {
  return std::make_unique<DepthwiseOp>(context, std::get<Conv>(context.node.op));
}

}  // namespace colonnade
