// SPDX-License-Identifier: Apache-2.0
// GridSample: the image is turned channels-last where enough of it is read, sampled a block of positions at a time, and
// the samples are turned back.
#include "kernels/grid_sample/grid_sample.hpp"

#include <algorithm>

#include "base/interval.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/move/move.hpp"

namespace colonnade {
namespace {

namespace sample = kernels::grid_sample;

constexpr std::int64_t kSampleBlock = 64;  // positions at a time

/// Of an image or a volume [images, channels, ...].
std::int64_t pixels_of(const Shape& shape) { return element_count(std::span(shape).subspan(2)); }

/// The positions of an image in parts, each of whole blocks: what threads share. A thread turns an image once for the
/// parts that it samples, so there are no more of them than pay.
struct Parts {
  std::int64_t images, positions, of_image;

  explicit Parts(const Subject& node) : images(node.input_shape(0).front()), positions(pixels_of(node.output_shape())) {
    constexpr std::int64_t kWish = 8;
    const std::int64_t blocks = (positions + kSampleBlock - 1) / kSampleBlock;
    of_image = images >= kWish ? 1 : std::clamp<std::int64_t>(blocks / 4, 1, kWish);
  }
  Interval of(std::int64_t part) const {
    const std::int64_t blocks = (positions + kSampleBlock - 1) / kSampleBlock;
    const auto border = [&](std::int64_t at) { return std::min(positions, blocks * at / of_image * kSampleBlock); };
    return {border(part), border(part + 1)};
  }
};

/// Units are parts of images.
class GridSampleOp final : public RowOp {
 public:
  GridSampleOp(const LowerContext& context, const GridSample& op)
      : kernel_(sample::select(context.features)),
        move_(kernels::move::select(context.features)),
        in_(context.in<float>(0)),
        grid_(context.in<float>(1)),
        out_(context.out<float>()),
        parts_(context) {
    const Shape& in = context.input_shape(0);
    args_.mode = op.mode == ResizeMode::nearest  ? sample::Mode::nearest
                 : op.mode == ResizeMode::linear ? sample::Mode::linear
                                                 : sample::Mode::cubic;
    args_.padding = op.padding == GridSample::Padding::zeros    ? sample::Padding::zeros
                    : op.padding == GridSample::Padding::border ? sample::Padding::border
                                                                : sample::Padding::reflection;
    args_.align_corners = op.align_corners;
    args_.channels = static_cast<std::size_t>(in[1]);
    axes_ = std::ssize(in) - 2;
    args_.depth = static_cast<std::size_t>(axes_ == 3 ? in[2] : 0);
    args_.height = static_cast<std::size_t>(in.end()[-2]);
    args_.width = static_cast<std::size_t>(in.back());
    channels_ = in[1];
    pixels_ = pixels_of(in);
    const std::int64_t of_axis = op.mode == ResizeMode::nearest ? 1 : op.mode == ResizeMode::linear ? 2 : 4;
    const std::int64_t taps = of_axis * of_axis * (axes_ == 3 ? of_axis : 1);
    turned_ = channels_ > 1 && parts_.positions * taps >= pixels_ / 2;
    args_.pixel_stride = turned_ ? channels_ : 1;
    args_.channel_stride = turned_ ? 1 : pixels_;
  }

  void run(const StepContext& step) const override {
    std::int64_t turned = -1;  // image
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit) {
      const std::int64_t n = unit / parts_.of_image;
      const float* planes = whole(step, in_) + n * pixels_ * channels_;
      if (turned_ && turned != n)
        move_.planes_to_pixels(
            {static_cast<std::size_t>(pixels_), args_.channels, planes, pixels_, step.scratch, channels_});
      turned = n;
      sample_part(step, n, parts_.of(unit % parts_.of_image), turned_ ? step.scratch : planes);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  void sample_part(const StepContext& step, std::int64_t n, Interval part, const float* image) const {
    float* block = step.scratch + pixels_ * channels_;
    float* out = whole(step, out_) + n * parts_.positions * channels_;
    sample::Args args = args_;
    args.image = image;
    args.out = block;
    for (std::int64_t first = part.begin; first < part.end; first += kSampleBlock) {
      args.positions = static_cast<std::size_t>(std::min(kSampleBlock, part.end - first));
      args.grid = whole(step, grid_) + (n * parts_.positions + first) * axes_;
      kernel_.run(args);
      move_.pixels_to_planes({args.positions, args.channels, block, channels_, out + first, parts_.positions});
    }
  }

  const sample::Kernel& kernel_;
  const kernels::move::Kernel& move_;
  ValueOf<float> in_, grid_, out_;
  Parts parts_;
  sample::Args args_;
  bool turned_ = false;  ///< the image is read channels-last
  std::int64_t axes_ = 2, channels_ = 1, pixels_ = 1;
};

Match match(const Candidate& node) {
  if (!std::holds_alternative<GridSample>(node.node.op)) return refuse();
  const Shape& in = node.input_shape(0);
  const bool image = (in.size() == 4 || in.size() == 5) && element_count(in) > 0;
  return image && node.input(1).type.dtype == DType::f32 ? take() : refuse("only two and three axes have a kernel");
}

std::int64_t units(const Chosen& node) {
  const Parts parts(node);
  return parts.images * parts.of_image;
}

std::int64_t workspace_bytes(const Chosen& node) {
  const Shape& in = node.input_shape(0);
  return in[1] * (pixels_of(in) + kSampleBlock) * static_cast<std::int64_t>(sizeof(float));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<GridSampleOp>(context, std::get<GridSample>(context.node.op));
}

}  // namespace

constinit const Family families::grid_sample = whole_family({.name = "grid_sample",
                                                             .types = kFloats,
                                                             .match = match,
                                                             .units = units,
                                                             .effort = byte_effort<Work::copy>,
                                                             .weights_bytes = no_bytes,
                                                             .workspace_bytes = workspace_bytes,
                                                             .lower = lower});

}  // namespace colonnade
