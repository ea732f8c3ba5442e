// SPDX-License-Identifier: Apache-2.0
// Regions of images, pooled to bins: means of samples (RoiAlign) and largest pixels (MaxRoiPool).
#include "kernels/regions/regions.hpp"

#include <limits>

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"
#include "graph/shape_rules.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/regions.hpp"

namespace colonnade {
namespace {

using kernels::regions::kLanes;
using reference::Alignment;
using reference::AxisSamples;
using reference::Sample;

constexpr auto kLaneCount = static_cast<std::int64_t>(kLanes);

const Opaque* opaque_of(const Node& node, const Definition& definition) {
  const auto* opaque = std::get_if<Opaque>(&node.op);
  return opaque != nullptr && opaque->definition == &definition ? opaque : nullptr;
}

/// The planes of all regions, which threads share.
Shared planes_of(const Subject& node) { return {node.output_shape()[0] * node.output_shape()[1]}; }

/// What both operators have: an image, regions of it, bins.
class RegionOp : public RowOp {
 public:
  explicit RegionOp(const LowerContext& context)
      : image_(context.in<float>(0)),
        regions_(context.in<float>(1)),
        out_(context.out<float>()),
        shape_(context.input_shape(0)),
        bins_(context.output_shape()),
        shared_(planes_of(context)),
        node_(context.node.name),
        origin_(context.node.origin) {}

  void run(const StepContext& step) const override {
    const Interval planes = shared_.of(step);
    const std::int64_t channels = shape_[1];
    for (std::int64_t at = planes.begin; at < planes.end;) {
      const std::int64_t region = at / channels, first = at % channels;
      const std::int64_t count = std::min(channels - first, planes.end - at);
      pool(step, region, {first, first + count}, whole(step, out_) + at * bins_[2] * bins_[3]);
      at += count;
    }
  }

 protected:
  /// Some channels of a region.
  virtual void pool(const StepContext& step, std::int64_t region, Interval channels, float* out) const = 0;

  /// The first of its planes in the image; throws Error{invalid_input} where there is no such image.
  const float* planes(const StepContext& step, double batch, std::int64_t channel) const {
    if (!(batch >= 0 && batch < static_cast<double>(shape_[0])))
      fail(ErrorCode::invalid_input, "node '{}' ({}): batch index {} is out of range [0,{})", node_, origin_, batch,
           shape_[0]);
    return whole(step, image_) + (static_cast<std::int64_t>(batch) * shape_[1] + channel) * shape_[2] * shape_[3];
  }
  const float* region(const StepContext& step, std::int64_t index, std::int64_t numbers) const {
    return whole(step, regions_) + index * numbers;
  }

  ValueOf<float> image_, regions_, out_;
  Shape shape_, bins_;
  Shared shared_;
  std::string node_, origin_;
};

/// Samples of bins are sums over rows and columns apart: what lies where is weighed once a region, not once a channel.
class AlignOp final : public RegionOp {
 public:
  AlignOp(const LowerContext& context, const Opaque& op)
      : RegionOp(context),
        kernel_(kernels::regions::select(context.features)),
        batches_(context.in<std::int64_t>(2)),
        read_(reference::alignment_of(op)) {}

  std::string_view kernel() const override { return kernel_.name; }

  /// Lanes of a row of bins, whole vectors.
  static std::int64_t lanes(const Shape& bins) { return round_up(bins[3], kLaneCount); }
  static std::int64_t scratch_floats(const Shape& image, const Shape& bins) {
    return image[2] * (bins[2] + 1) + image[3] * (lanes(bins) + 1) + bins[2] * kLaneCount;
  }

 private:
  /// The pixels that bins touch along an axis, and their weight in each bin.
  struct Touched {
    std::int32_t* pixels;
    float* weights;  ///< `stride` a pixel
    std::int64_t stride, count = 0;
  };

  void pool(const StepContext& step, std::int64_t index, Interval channels, float* out) const override {
    const float* box = region(step, index, 4);
    const float* image = planes(step, static_cast<double>(whole(step, batches_)[index]), channels.begin);
    float* sums = step.scratch;
    Touched rows{nullptr, sums + bins_[2] * kLaneCount, bins_[2]};
    Touched columns{nullptr, rows.weights + shape_[2] * rows.stride, lanes(bins_)};
    rows.pixels = reinterpret_cast<std::int32_t*>(columns.weights + shape_[3] * columns.stride);
    columns.pixels = rows.pixels + shape_[2];
    weigh(box[1], box[3], bins_[2], shape_[2], rows);
    weigh(box[0], box[2], bins_[3], shape_[3], columns);
    for (std::int64_t x = 0; x < bins_[3]; x += kLaneCount) {
      kernels::regions::AlignArgs args;
      args.planes = image;
      args.out = out + x;
      args.sums = sums;
      args.channels = static_cast<std::size_t>(channels.size());
      args.plane_stride = shape_[2] * shape_[3];
      args.row_stride = shape_[3];
      args.out_plane_stride = bins_[2] * bins_[3];
      args.out_row_stride = bins_[3];
      args.rows = rows.pixels;
      args.row_weights = rows.weights;
      args.row_count = static_cast<std::size_t>(rows.count);
      args.columns = columns.pixels;
      args.column_weights = columns.weights + x;
      args.column_weights_stride = columns.stride;
      args.column_count = static_cast<std::size_t>(columns.count);
      args.height = static_cast<std::size_t>(bins_[2]);
      args.width = static_cast<std::size_t>(std::min(kLaneCount, bins_[3] - x));
      kernel_.align(args);
    }
  }

  void weigh(float start, float end, std::int64_t bins, std::int64_t size, Touched& touched) const {
    const AxisSamples axis = reference::axis_samples(read_, static_cast<double>(start), static_cast<double>(end), bins);
    if (!(axis.count <= reference::kMaxSamples))
      fail(ErrorCode::invalid_input, "node '{}' ({}): a region asks for {} samples a bin, expected {} at most", node_,
           origin_, axis.count, reference::kMaxSamples);
    std::fill_n(touched.weights, size * touched.stride, 0.0F);
    std::fill_n(touched.pixels, size, 0);
    const auto add = [&](std::int64_t pixel, std::int64_t bin, double weight) {
      touched.pixels[pixel] = 1;
      touched.weights[pixel * touched.stride + bin] += static_cast<float>(weight / axis.count);
    };
    for (std::int64_t bin = 0; bin < bins; ++bin)
      for (double i = 0; i < axis.count; ++i) {
        const Sample sample = axis.at(bin, i, size);
        if (!sample.inside) continue;
        add(sample.low, bin, 1 - sample.share);
        if (sample.share != 0) add(sample.high, bin, sample.share);
      }
    for (std::int64_t pixel = 0; pixel < size; ++pixel) {
      if (touched.pixels[pixel] == 0) continue;
      if (touched.count != pixel)
        std::copy_n(touched.weights + pixel * touched.stride, touched.stride,
                    touched.weights + touched.count * touched.stride);
      touched.pixels[touched.count++] = static_cast<std::int32_t>(pixel);
    }
  }

  const kernels::regions::Kernel& kernel_;
  ValueOf<std::int64_t> batches_;
  Alignment read_;
};

class LargestOp final : public RegionOp {
 public:
  LargestOp(const LowerContext& context, const Opaque& op)
      : RegionOp(context), scale_(static_cast<double>(op.float_or("spatial_scale", 1))) {}

  std::string_view kernel() const override { return "largest"; }

  static std::int64_t scratch_floats(const Shape& bins) {
    return (bins[2] + bins[3]) * static_cast<std::int64_t>(sizeof(Interval) / sizeof(float));
  }

 private:
  void pool(const StepContext& step, std::int64_t index, Interval channels, float* out) const override {
    const float* box = region(step, index, 5);
    const float* plane = planes(step, static_cast<double>(box[0]), channels.begin);
    auto* rows = reinterpret_cast<Interval*>(step.scratch);
    Interval* columns = rows + bins_[2];
    find(box[2], box[4], bins_[2], shape_[2], rows);
    find(box[1], box[3], bins_[3], shape_[3], columns);
    for (std::int64_t c = channels.begin; c < channels.end; ++c, plane += shape_[2] * shape_[3])
      for (std::int64_t y = 0; y < bins_[2]; ++y)
        for (std::int64_t x = 0; x < bins_[3]; ++x) *out++ = largest(plane, rows[y], columns[x]);
  }

  void find(float start, float end, std::int64_t bins, std::int64_t size, Interval* pixels) const {
    double ends[2] = {static_cast<double>(start), static_cast<double>(end)};
    for (double& at : ends) {
      at = std::round(at * scale_);
      if (!(std::abs(at) <= static_cast<double>(kMaxDim)))
        fail(ErrorCode::invalid_input, "node '{}' ({}): a region reaches to {}", node_, origin_, at);
    }
    for (std::int64_t bin = 0; bin < bins; ++bin)
      pixels[bin] = reference::bin_pixels(ends[0], ends[1], bin, bins, size);
  }

  float largest(const float* plane, Interval rows, Interval columns) const {
    if (rows.empty() || columns.empty()) return 0;
    float peak = -std::numeric_limits<float>::infinity();
    for (std::int64_t y = rows.begin; y < rows.end; ++y) {
      const float* row = plane + y * shape_[3];
      for (std::int64_t x = columns.begin; x < columns.end; ++x) peak = row[x] > peak ? row[x] : peak;
    }
    return peak;
  }

  double scale_;
};

Match match(const Candidate& node) {
  const Opaque* align = opaque_of(node.node, reference::kRoiAlign);
  if (align == nullptr && opaque_of(node.node, reference::kMaxRoiPool) == nullptr) return refuse();
  if (node.input(1).type.dtype != DType::f32) return refuse("regions of this type have no kernel");
  if (align != nullptr && reference::alignment_of(*align).max) return refuse("no kernel for the largest sample");
  if (align != nullptr && node.input(2).type.dtype != DType::i64) return refuse("indices of this type have no kernel");
  return take();
}

std::int64_t units(const Chosen& node) { return planes_of(node).units(); }

/// A bin takes a few pixels.
Effort effort(const Chosen& node, const Rates& rates) {
  constexpr double kPixels = 8;
  return {rates.seconds(Work::function, kPixels * elements_of(node.graph, node.node.outputs[0]), 1)};
}

std::int64_t workspace_bytes(const Chosen& node) {
  const bool aligns = opaque_of(node.node, reference::kRoiAlign) != nullptr;
  const std::int64_t floats = aligns ? AlignOp::scratch_floats(node.input_shape(0), node.output_shape())
                                     : LargestOp::scratch_floats(node.output_shape());
  return floats * static_cast<std::int64_t>(sizeof(float));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  const auto& op = std::get<Opaque>(context.node.op);
  if (op.definition == &reference::kRoiAlign) return std::make_unique<AlignOp>(context, op);
  return std::make_unique<LargestOp>(context, op);
}

}  // namespace

constinit const Family families::regions = {.name = "regions",
                                            .scope = Scope::whole,
                                            .border = Border::none,
                                            .types = kFloats,
                                            .match = match,
                                            .units = units,
                                            .effort = effort,
                                            .weights_bytes = no_bytes,
                                            .workspace_bytes = workspace_bytes,
                                            .window = no_window,
                                            .chunks = no_chunks,
                                            .placements = no_placements,
                                            .tell = nothing_told,
                                            .lower = lower};

}  // namespace colonnade
