// SPDX-License-Identifier: Apache-2.0
#include "families/contraction.hpp"

#include <fmt/core.h>

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/dense_conv.hpp"
#include "families/rows.hpp"

namespace colonnade {
namespace {

using kernels::Encoding;
using kernels::gemm::ConvArgs;

constexpr std::int64_t kFewChannels = 8;  // a sum over fewer runs through taps, not channels

class ContractionOp final : public RowOp {
 public:
  ContractionOp(const LowerContext& context, const float* weights, const FusedEpilogue& epilogue)
      : form_(context.form<Contraction>()),
        chunks_(context.chunks),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        in_shape_(row_shape(context.input_shape(0))),
        out_shape_(row_shape(context.output_shape())),
        weights_(weights),
        bias_(context.floats(2)) {
    const LoweredEpilogue lowered = lower_epilogue(context, epilogue, 3);
    epilogue_ = lowered.epilogue;
    residual_ = lowered.residual;
  }

  void run(const StepContext& step) const override {
    ConvArgs args = base_args(step);
    const Rows in(step, in_, input_chunk(step)), out(step, out_, output_chunk(step)), residual(step, residual_, 0);
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    args.residual_pixel_stride = residual.pixel_stride();
    const RowWindow row_window(in, out, form_.window.stride_w, form_.window.pad_left);
    args.width_in = static_cast<std::size_t>(row_window.width_in);
    args.width_out = static_cast<std::size_t>(row_window.width_out);
    args.pad_left = static_cast<std::size_t>(row_window.pad_left);
    if (form_.pointwise) return run_pointwise(step, args, in, out, residual);
    const std::int64_t rows = step.row_end - step.row_begin;
    const float** in_rows = step.pointers;
    const float** out_rows = in_rows + rows * form_.window.kernel_h;
    const float** residual_rows = out_rows + rows;
    tap_rows(in, form_.window, row_window.skip, step.row_begin, step.row_end, in_shape_.rows, in_rows);
    for (std::int64_t r = 0; r < rows; ++r) out_rows[r] = out(step.row_begin + r) + channel_offset(step);
    for (std::int64_t r = 0; residual && r < rows; ++r)
      residual_rows[r] = residual.at(step.row_begin + r, out.column_begin()) + channel_offset(step);
    args.rows = static_cast<std::size_t>(rows);
    args.in_rows = in_rows;
    args.out_rows = const_cast<float**>(out_rows);
    args.residual_rows = residual ? residual_rows : nullptr;
    form_.kernel->run(args);
  }

  std::size_t pointer_count(std::int64_t rows) const override {
    return static_cast<std::size_t>(rows * (form_.window.kernel_h + 2) + 3);
  }
  std::string_view kernel() const override { return form_.kernel->name; }

 private:
  std::int64_t input_chunk(const StepContext& step) const { return chunks_.role == ChunkRole::input ? step.chunk : 0; }
  std::int64_t output_chunk(const StepContext& step) const {
    return chunks_.role == ChunkRole::output && Rows(step, out_, 0).in_chunks() ? step.chunk : 0;
  }
  /// Channels to skip in a whole output row when its channels are divided.
  std::int64_t channel_offset(const StepContext& step) const {
    return chunks_.role == ChunkRole::output && !Rows(step, out_, 0).in_chunks() ? chunks_.begin(step.chunk) : 0;
  }

  ConvArgs base_args(const StepContext& step) const {
    ConvArgs args;
    args.kernel_h = static_cast<std::size_t>(form_.window.kernel_h);
    args.kernel_w = static_cast<std::size_t>(form_.window.kernel_w);
    args.stride_w = static_cast<std::size_t>(form_.window.stride_w);
    args.dilation_w = static_cast<std::size_t>(form_.window.dilation_w);
    args.groups = static_cast<std::size_t>(form_.groups);
    args.channels_in = static_cast<std::size_t>(in_shape_.channels / form_.groups);
    args.channels_out = static_cast<std::size_t>(out_shape_.channels / form_.groups);
    args.panel_stride =
        kernels::gemm::panel_floats(form_.kernel->encoding, panel_rows(form_.kernel->encoding, terms_of(args)));
    args.weights = weights_;
    args.bias = bias_;
    args.epilogue = epilogue_;
    args.partial_sums = form_.partial_sums;
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
    args.weights += kernels::gemm::panel_floats(form_.kernel->encoding, static_cast<std::size_t>(begin));
    args.channels_in = static_cast<std::size_t>(size);
    args.accumulate = chunk > 0;
    if (!chunks_.is_last(chunk)) args.epilogue = {};
  }

  /// A matrix product: rows that follow each other in memory run as one wide row.
  void run_pointwise(const StepContext& step, ConvArgs& args, const Rows<float>& in, const Rows<float>& out,
                     const Rows<float>& residual) const {
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
      form_.kernel->run(args);
      r = end;
    }
  }

  Contraction form_;
  ChunkInfo chunks_;
  ValueOf<float> in_, out_, residual_;
  RowShape in_shape_, out_shape_;
  const float* weights_;
  const float* bias_;
  kernels::Epilogue epilogue_;
};

}  // namespace

kernels::gemm::Terms terms_of(const Contraction& form) {
  return {static_cast<std::size_t>(form.window.kernel_h), static_cast<std::size_t>(form.window.kernel_w),
          static_cast<std::size_t>(form.window.stride_w), static_cast<std::size_t>(form.window.dilation_w),
          static_cast<std::size_t>(form.inputs)};
}

std::int64_t paired_terms(const Contraction& form) {
  return static_cast<std::int64_t>(kernels::gemm::panel_rows(Encoding::bf16, terms_of(form)));
}

std::int64_t packed_floats(Encoding encoding, const Contraction& form) {
  const std::size_t rows = kernels::gemm::panel_rows(encoding, terms_of(form));
  return static_cast<std::int64_t>(
      kernels::gemm::packed_floats(encoding, rows, static_cast<std::size_t>(form.outputs)));
}

std::string format_of(Encoding encoding, std::string_view name, const Contraction& form) {
  switch (encoding) {
    case Encoding::f32: return std::string(name);
    case Encoding::bf16x3: return fmt::format("pieces/{}", name);
    case Encoding::bf16: return fmt::format("pairs/{}/{}", name, kernels::gemm::paired_terms(terms_of(form)));
  }
  return {};
}

void encode_panel(Encoding encoding, const float* panel, std::size_t k, std::size_t run, float* place) {
  if (encoding == Encoding::bf16x3) kernels::gemm::cut_pieces(panel, k, place);
  if (encoding == Encoding::bf16) kernels::gemm::pair_up(panel, k, run, place);
}

void pack_taps(const float* filters, std::int64_t taps, std::int64_t channels, std::int64_t count, float* panel) {
  for (std::int64_t tap = 0; tap < taps; ++tap, panel += channels * kPanel)
    kernels::gemm::pack(filters + tap, taps, channels * taps, static_cast<std::size_t>(channels),
                        static_cast<std::size_t>(count), panel);
}

WeightMemory pack_filters(const Constant& weight, const Contraction& form, Encoding encoding, WeightRoom& room) {
  const bool encoded = encoding != Encoding::f32;
  const std::int64_t groups = form.groups;
  const Shape& shape = weight.shape();
  const std::int64_t taps = element_count(std::span(shape).subspan(2)), channels = shape[1], n = shape[0] / groups,
                     row = channels * taps;
  const auto k = static_cast<std::size_t>(row);
  const std::int64_t floats = packed_floats(encoding, form), panel_floats = floats / ceil_div(n, kPanel);
  WeightMemory packed = room.take(static_cast<std::size_t>(floats * groups) * sizeof(float));
  weight.for_each_rows(groups == 1 ? kPanel : n, [&](std::span<const float> elements, std::int64_t first) {
    std::vector<float> whole(encoded ? k * kernels::gemm::kPanel : 0);
    const std::int64_t end = first + static_cast<std::int64_t>(elements.size()) / row;
    for (std::int64_t o = first, width = 0; o < end; o += width) {
      width = std::min(kPanel, n - o % n);
      float* const place = packed.floats() + o / n * floats + o % n / kPanel * panel_floats;
      float* const panel = encoded ? whole.data() : place;
      pack_taps(elements.data() + (o - first) * row, taps, channels, width, panel);
      if (encoded) encode_panel(encoding, panel, k, kernels::gemm::paired_terms(terms_of(form)), place);
    }
  });
  return packed;
}

Match offers_of(const Contraction& form, std::vector<Offer> offers, const Candidate& node) {
  for (Offer& offer : offers) {
    Contraction encoded = form;
    encoded.kernel = &kernels::gemm::select(node.features, offer.encoding);
    encoded.chunk_channels = chunk_channels(offer.encoding, node.blocking);
    offer.form = Form::of(encoded);
  }
  return {{}, std::move(offers)};
}

double contraction_seconds(const Chosen& node, std::int64_t groups, const Rates& rates) {
  const double flop = flop_of(node.graph, node.node);
  const double depth = flop / 2 / elements_of(node.graph, node.node.outputs[0]);
  const std::int64_t out = node.output_shape().back() / groups;
  switch (node.choice.encoding) {
    case Encoding::bf16x3: {
      const auto outputs = static_cast<double>(out);
      return rates.seconds(Work::pieces, flop * padded(out, kPanel), 2 * depth * outputs / (depth + outputs));
    }
    case Encoding::bf16: return rates.seconds(Work::pairs, flop * padded(out, kPanel), depth);
    case Encoding::f32: {
      const Work kind = node.input_shape(0).back() / groups < kFewChannels ? Work::image : Work::contraction;
      return rates.seconds(kind, flop * padded(out, kPanel), depth);
    }
  }
  return 0;
}

Effort contraction_effort(const Chosen& node, const Rates& rates) {
  return {contraction_seconds(node, node.form<Contraction>().groups, rates), idle_pixels(node.choice.encoding)};
}

std::int64_t contraction_weights_bytes(const Chosen& node) {
  if (node.choice.encoding == Encoding::f32) return weight_bytes(node);
  const auto& form = node.form<Contraction>();
  return form.groups * static_cast<std::int64_t>(sizeof(float)) * packed_floats(node.choice.encoding, form);
}

std::int64_t contraction_workspace_bytes(const Chosen& node) {
  const auto& form = node.form<Contraction>();
  return static_cast<std::int64_t>(
      sizeof(float) *
      kernels::gemm::workspace_floats(node.choice.encoding, terms_of(form), static_cast<std::size_t>(form.outputs)));
}

ChunkRule contraction_chunks(const Chosen& node, bool pointwise, const FusedEpilogue& epilogue) {
  const auto& form = node.form<Contraction>();
  const bool pieces = node.choice.encoding == Encoding::bf16x3;
  return {.opens = pointwise && !epilogue.residual && !epilogue.prelu_slope,
          .carries = false,
          .closes = pointwise && !form.partial_sums,
          .wish = form.chunk_channels,
          .grain = pieces ? static_cast<std::int64_t>(kernels::gemm::kPiecesStep) : kPanel,
          .share = form.groups == 1 ? kPanel : 0,
          .apart = apart(node.choice.encoding)};
}

std::unique_ptr<RowOp> lower_contraction(const LowerContext& context, const float* weights,
                                         const FusedEpilogue& epilogue) {
  return std::make_unique<ContractionOp>(context, weights, epilogue);
}

}  // namespace colonnade
