// SPDX-License-Identifier: Apache-2.0
// GridSample: the image is turned channels-last where enough of it is read, sampled a block of positions at a time, and
// the samples are turned back.
#include "kernels/grid_sample/grid_sample.hpp"

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/move/move.hpp"

namespace colonnade {
namespace {

namespace sample = kernels::grid_sample;

constexpr std::int64_t kSampleBlock = 64;  // positions at a time

/// Units are images.
class GridSampleOp final : public RowOp {
 public:
  GridSampleOp(const LowerContext& context, const GridSample& op)
      : kernel_(sample::select(context.features)),
        move_(kernels::move::select(context.features)),
        in_(context.in<float>(0)),
        grid_(context.in<float>(1)),
        out_(context.out<float>()) {
    const Shape& in = context.input_shape(0);
    const Shape& out = context.output_shape();
    args_.mode = op.mode == ResizeMode::nearest  ? sample::Mode::nearest
                 : op.mode == ResizeMode::linear ? sample::Mode::linear
                                                 : sample::Mode::cubic;
    args_.padding = op.padding == GridSample::Padding::zeros    ? sample::Padding::zeros
                    : op.padding == GridSample::Padding::border ? sample::Padding::border
                                                                : sample::Padding::reflection;
    args_.align_corners = op.align_corners;
    args_.channels = static_cast<std::size_t>(in[1]);
    args_.height = static_cast<std::size_t>(in[2]);
    args_.width = static_cast<std::size_t>(in[3]);
    channels_ = in[1];
    pixels_ = in[2] * in[3];
    positions_ = out[2] * out[3];
    const std::int64_t taps = op.mode == ResizeMode::nearest ? 1 : op.mode == ResizeMode::linear ? 4 : 16;
    turned_ = channels_ > 1 && positions_ * taps >= pixels_ / 2;
    args_.pixel_stride = turned_ ? channels_ : 1;
    args_.channel_stride = turned_ ? 1 : pixels_;
  }

  void run(const StepContext& step) const override {
    float* image = step.scratch;
    float* block = image + pixels_ * channels_;
    for (std::int64_t n = step.row_begin; n < step.row_end; ++n) {
      const float* planes = whole(step, in_) + n * pixels_ * channels_;
      if (turned_)
        move_.planes_to_pixels({static_cast<std::size_t>(pixels_), args_.channels, planes, pixels_, image, channels_});
      float* out = whole(step, out_) + n * positions_ * channels_;
      sample::Args args = args_;
      args.image = turned_ ? image : planes;
      args.out = block;
      for (std::int64_t first = 0; first < positions_; first += kSampleBlock) {
        args.positions = static_cast<std::size_t>(std::min(kSampleBlock, positions_ - first));
        args.grid = whole(step, grid_) + (n * positions_ + first) * 2;
        kernel_.run(args);
        move_.pixels_to_planes({args.positions, args.channels, block, channels_, out + first, positions_});
      }
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const sample::Kernel& kernel_;
  const kernels::move::Kernel& move_;
  ValueOf<float> in_, grid_, out_;
  sample::Args args_;
  bool turned_ = false;  ///< the image is read channels-last
  std::int64_t channels_ = 1, pixels_ = 1, positions_ = 1;
};

Match match(const Candidate& node) {
  if (!std::holds_alternative<GridSample>(node.node.op)) return refuse();
  const Shape& in = node.input_shape(0);
  const bool image = in.size() == 4 && element_count(in) > 0 && node.input(1).type.dtype == DType::f32;
  return image ? take() : refuse("only two spatial axes have a kernel");
}

std::int64_t images(const Chosen& node) { return node.input_shape(0).front(); }

std::int64_t workspace_bytes(const Chosen& node) {
  const Shape& in = node.input_shape(0);
  return in[1] * (in[2] * in[3] + kSampleBlock) * static_cast<std::int64_t>(sizeof(float));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<GridSampleOp>(context, std::get<GridSample>(context.node.op));
}

}  // namespace

constinit const Family families::grid_sample = {.name = "grid_sample",
                                                .scope = Scope::whole,
                                                .border = Border::none,
                                                .types = kFloats,
                                                .match = match,
                                                .units = images,
                                                .effort = byte_effort<Work::copy>,
                                                .weights_bytes = no_bytes,
                                                .workspace_bytes = workspace_bytes,
                                                .window = no_window,
                                                .chunks = no_chunks,
                                                .placements = no_placements,
                                                .tell = nothing_told,
                                                .lower = lower};

}  // namespace colonnade
