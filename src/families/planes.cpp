// SPDX-License-Identifier: Apache-2.0
// Convolution with few output channels: the input's rows become planes, which a kernel with pixels as lanes reads.
#include "kernels/planes/planes.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/dense_conv.hpp"
#include "families/lower.hpp"
#include "families/table.hpp"
#include "families/window.hpp"
#include "kernels/move/move.hpp"

namespace colonnade {
namespace {

using kernels::Encoding;

constexpr std::int64_t kPlaneRows = 4;  // come together, so that few are turned into planes twice

/// How the family walks along a row: blocks of output pixels, small enough that the planes of the rows that a block
/// reads stay near. Its scratch holds the output's planes, then a ring of kernel_h rows of planes.
struct PlaneBlocks {
  std::int64_t pixels = 0;        ///< output pixels a block, and floats from one of its output planes to the next
  std::int64_t plane_stride = 0;  ///< floats from one input plane to the next: every pixel that a block reads
  std::int64_t row_floats = 0;    ///< all planes of an input row
  std::int64_t out_floats = 0;    ///< all planes of an output row
};

struct PlanesForm {
  Window window;
  PlaneBlocks blocks;
};

/// Weights [n, channels, kh, kw] as [kh, channels, kw, n].
WeightMemory pack_planes(const Tensor& weight, WeightRoom& room) {
  const Shape& shape = weight.shape();
  const auto n = static_cast<std::size_t>(shape[0]), channels = static_cast<std::size_t>(shape[1]),
             kh = static_cast<std::size_t>(shape[2]), kw = static_cast<std::size_t>(shape[3]);
  const auto values = weight.values<float>();
  WeightMemory packed = room.take(values.size() * sizeof(float));
  float* next = packed.floats();
  for (std::size_t ky = 0; ky < kh; ++ky)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t kx = 0; kx < kw; ++kx)
        for (std::size_t o = 0; o < n; ++o) *next++ = values[((o * channels + c) * kh + ky) * kw + kx];
  return packed;
}

class PlanesOp final : public RowOp {
 public:
  PlanesOp(const LowerContext& context, const Conv& conv)
      : kernel_(kernels::planes::select(context.features)),
        move_(kernels::move::select(context.features)),
        window_(context.form<PlanesForm>().window),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        in_shape_(row_shape(context.input_shape(0))),
        out_shape_(row_shape(context.output_shape())),
        blocks_(context.form<PlanesForm>().blocks),
        weights_(context.packed(1, "planes", pack_planes)),
        bias_(context.floats(2)) {
    const LoweredEpilogue lowered = lower_epilogue(context, conv.epilogue, 3);
    epilogue_ = lowered.epilogue;
    residual_ = lowered.residual;
  }

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0), residual(step, residual_, 0);
    const RowWindow row_window(in, out, 1, window_.pad_left);
    kernels::planes::Args args;
    args.rows = step.pointers;
    args.plane_stride = blocks_.plane_stride;
    args.weights = weights_;
    args.kernel_h = static_cast<std::size_t>(window_.kernel_h);
    args.kernel_w = static_cast<std::size_t>(window_.kernel_w);
    args.dilation_w = static_cast<std::size_t>(window_.dilation_w);
    args.channels_in = static_cast<std::size_t>(in_shape_.channels);
    args.channels_out = static_cast<std::size_t>(out_shape_.channels);
    args.out = step.scratch;
    args.out_plane_stride = blocks_.pixels;
    args.residual = residual ? step.scratch : nullptr;
    args.bias = bias_;
    args.epilogue = epilogue_;
    for (std::int64_t x = 0; x < row_window.width_out; x += blocks_.pixels) {
      args.pixels = static_cast<std::size_t>(std::min(blocks_.pixels, row_window.width_out - x));
      std::int64_t turned = 0;  // input rows below this one are planes already
      for (std::int64_t r = step.row_begin; r < step.row_end; ++r) {
        const std::int64_t top = r * window_.stride_h - window_.pad_top;
        for (std::int64_t ky = 0; ky < window_.kernel_h; ++ky) {
          const std::int64_t y = top + ky;
          float* planes = step.scratch + blocks_.out_floats + y % window_.kernel_h * blocks_.row_floats;
          const bool inside = y >= 0 && y < in_shape_.rows;
          step.pointers[ky] = inside ? planes : nullptr;
          if (!inside || y < turned) continue;
          turn(in(y) + row_window.skip * in.pixel_stride(), in.pixel_stride(), row_window, x, planes);
          turned = y + 1;
        }
        if (residual) turn_residual(residual, r, out.column_begin() + x, args);
        kernel_.run(args);
        move_.planes_to_pixels({args.pixels, args.channels_out, args.out, args.out_plane_stride,
                                out(r) + x * out.pixel_stride(), out.pixel_stride()});
      }
    }
  }

  std::size_t pointer_count(std::int64_t) const override { return static_cast<std::size_t>(window_.kernel_h); }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// Makes planes of the pixels of one input row that a block reads from output pixel x on, zeros around them.
  void turn(const float* row, std::int64_t pixel_stride, const RowWindow& row_window, std::int64_t x,
            float* planes) const {
    const auto inside = [&](std::int64_t pixel) { return std::clamp<std::int64_t>(pixel, 0, row_window.width_in); };
    const std::int64_t first = x - row_window.pad_left;
    const std::int64_t begin = inside(first), end = inside(first + blocks_.plane_stride);
    const std::int64_t before = std::clamp<std::int64_t>(begin - first, 0, blocks_.plane_stride), count = end - begin;
    const std::int64_t after = blocks_.plane_stride - before - count;
    const auto fill = [&](std::int64_t at, std::int64_t zeros) {
      if (zeros > 0)
        move_.fill({static_cast<std::size_t>(in_shape_.channels), static_cast<std::size_t>(zeros) * sizeof(float),
                    planes + at, blocks_.plane_stride * static_cast<std::ptrdiff_t>(sizeof(float)), 0});
    };
    fill(0, before);
    fill(before + count, after);
    move_.pixels_to_planes({static_cast<std::size_t>(count), static_cast<std::size_t>(in_shape_.channels),
                            row + begin * pixel_stride, pixel_stride, planes + before, blocks_.plane_stride});
  }

  void turn_residual(const Rows<float>& residual, std::int64_t row, std::int64_t column,
                     const kernels::planes::Args& args) const {
    move_.pixels_to_planes({args.pixels, args.channels_out, residual.at(row, column), residual.pixel_stride(), args.out,
                            args.out_plane_stride});
  }

  const kernels::planes::Kernel& kernel_;
  const kernels::move::Kernel& move_;
  Window window_;
  ValueOf<float> in_, out_, residual_;
  RowShape in_shape_, out_shape_;
  PlaneBlocks blocks_;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  kernels::Epilogue epilogue_;
};

PlaneBlocks blocks_of(const Candidate& node) {
  constexpr auto kGrain = static_cast<std::int64_t>(kernels::planes::kPixels);
  constexpr std::int64_t kFewest = 6 * kGrain, kMost = 30 * kGrain;
  const Shape& weight = node.input_shape(1);
  const std::int64_t width = node.output_shape()[2];
  const std::int64_t channels_in = weight[1], planes = channels_in * weight[2];
  const std::int64_t near_floats = node.blocking.near_planes_bytes / static_cast<std::int64_t>(sizeof(float));
  const std::int64_t near = near_floats / planes / kFewest * kFewest;
  PlaneBlocks blocks;
  blocks.pixels = std::min(std::clamp(near, kFewest, kMost), round_up(width, kGrain));
  blocks.plane_stride = blocks.pixels + round_up((weight[3] - 1) * std::get<Conv>(node.node.op).dilations[1], kGrain);
  blocks.row_floats = channels_in * blocks.plane_stride;
  blocks.out_floats = weight[0] * blocks.pixels;
  return blocks;
}

Match match(const Candidate& node) {
  const Conv* conv = std::get_if<Conv>(&node.node.op);
  if (conv == nullptr || !dense_refusal(node).empty()) return refuse();
  const std::int64_t taps = conv->kernel[0] * conv->kernel[1], inputs = node.input_shape(0)[3];
  const Shape& out = node.output_shape();
  if (conv->groups > 1 || conv->strides[1] > 1 || conv->dilations[0] > 1 || taps < node.blocking.least_plane_taps ||
      out[3] > static_cast<std::int64_t>(kernels::planes::kMostChannels))
    return refuse();
  const double flop = 2 * static_cast<double>(out[1] * out[2] * taps * inputs * out[3]) / node.blocking.planes_share;
  const bool always = out[3] <= node.blocking.most_planes_beside_winograd;
  return {
      {},
      {{Form::of(PlanesForm{window_of(node, *conv), blocks_of(node)}), kPlaneRows, Encoding::f32, always ? 0 : flop}}};
}

Effort effort(const Chosen& node, const Rates& rates) {
  const Shape& weight = node.input_shape(1);
  const double loads = weight[0] == 1 ? 2 : 1;  // a vector that crosses lines for each one that is multiplied
  return {rates.seconds(Work::contraction, loads * flop_of(node.graph, node.node),
                        static_cast<double>(weight[1] * weight[2] * weight[3])) +
          rates.seconds(Work::transpose, sizeof(float) * elements_of(node.graph, node.node.inputs[0]), 1)};
}

std::int64_t workspace_bytes(const Chosen& node) {
  const auto& [window, blocks] = node.form<PlanesForm>();
  return (blocks.out_floats + window.kernel_h * blocks.row_floats) * static_cast<std::int64_t>(sizeof(float));
}

ColumnWindow columns(const Chosen& node) { return conv_columns(node, node.form<PlanesForm>().window); }

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<PlanesOp>(context, std::get<Conv>(context.node.op));
}

}  // namespace

constinit const Family families::planes = {.name = "planes",
                                           .scope = Scope::rows,
                                           .border = Border::none,
                                           .types = kFloats,
                                           .match = match,
                                           .units = one_unit,
                                           .effort = effort,
                                           .weights_bytes = weight_bytes,
                                           .workspace_bytes = workspace_bytes,
                                           .window = columns,
                                           .chunks = no_chunks,
                                           .placements = no_placements,
                                           .tell = nothing_told,
                                           .lower = lower};

}  // namespace colonnade
