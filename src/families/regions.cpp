// SPDX-License-Identifier: Apache-2.0
// Regions of images, pooled to bins: means of samples (RoiAlign), the largest of them, a sample each (CropAndResize)
// and largest pixels (MaxRoiPool).
#include "kernels/regions/regions.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/region_op.hpp"
#include "families/table.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade {
namespace {

using kernels::regions::kLanes;
using reference::Alignment;
using reference::AxisSamples;
using reference::Sample;

constexpr auto kLaneCount = static_cast<std::int64_t>(kLanes);

/// Samples of bins are sums over rows and columns apart: what lies where is weighed once a region, not once a channel.
class WeighedOp : public RegionOp {
 public:
  explicit WeighedOp(const LowerContext& context)
      : RegionOp(context), kernel_(kernels::regions::select(context.features)), batches_(context, 2) {}

  std::string_view kernel() const override { return kernel_.name; }

  /// Lanes of a row of bins, whole vectors.
  static std::int64_t lanes(const Shape& bins) { return round_up(bins[3], kLaneCount); }
  static std::int64_t scratch_floats(const Shape& image, const Shape& bins) {
    return image[2] * (bins[2] + 1) + image[3] * (lanes(bins) + 1) + bins[2] * kLaneCount;
  }

 protected:
  /// The pixels that bins touch along an axis, and their weight in each bin.
  struct Touched {
    std::int32_t* pixels;
    float* weights;  ///< `stride` a pixel
    std::int64_t stride, count = 0;
  };

  /// What the bins of a box touch.
  virtual void touch(const float* box, Touched& rows, Touched& columns) const = 0;
  /// Changes the bins of some planes.
  virtual void finish(const float*, std::int64_t, float*) const {}

  /// `bins` bins of `count` samples each; sample(bin, i) is one of them.
  template <class Samples>
  static void weigh(std::int64_t bins, double count, std::int64_t size, const Samples& sample, Touched& touched) {
    std::fill_n(touched.weights, size * touched.stride, 0.0F);
    std::fill_n(touched.pixels, size, 0);
    const auto add = [&](std::int64_t pixel, std::int64_t bin, double weight) {
      touched.pixels[pixel] = 1;
      touched.weights[pixel * touched.stride + bin] += static_cast<float>(weight / count);
    };
    for (std::int64_t bin = 0; bin < bins; ++bin)
      for (double i = 0; i < count; ++i) {
        const Sample found = sample(bin, i);
        if (!found.inside) continue;
        add(found.low, bin, 1 - found.share);
        if (found.share != 0) add(found.high, bin, found.share);
      }
    for (std::int64_t pixel = 0; pixel < size; ++pixel) {
      if (touched.pixels[pixel] == 0) continue;
      if (touched.count != pixel)
        std::copy_n(touched.weights + pixel * touched.stride, touched.stride,
                    touched.weights + touched.count * touched.stride);
      touched.pixels[touched.count++] = static_cast<std::int32_t>(pixel);
    }
  }

 private:
  void pool(const StepContext& step, std::int64_t index, Interval channels, float* out) const override {
    const float* box = region(step, index, 4);
    const float* image = planes(step, batches_.of(step, index), channels.begin);
    float* sums = step.scratch;
    Touched rows{nullptr, sums + bins_[2] * kLaneCount, bins_[2]};
    Touched columns{nullptr, rows.weights + shape_[2] * rows.stride, lanes(bins_)};
    rows.pixels = reinterpret_cast<std::int32_t*>(columns.weights + shape_[3] * columns.stride);
    columns.pixels = rows.pixels + shape_[2];
    touch(box, rows, columns);
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
    finish(box, channels.size(), out);
  }

  const kernels::regions::Kernel& kernel_;
  Batches batches_;
};

class AlignOp final : public WeighedOp {
 public:
  AlignOp(const LowerContext& context, const Opaque& op) : WeighedOp(context), read_(reference::alignment_of(op)) {}

 private:
  void touch(const float* box, Touched& rows, Touched& columns) const override {
    along(box[1], box[3], bins_[2], shape_[2], rows);
    along(box[0], box[2], bins_[3], shape_[3], columns);
  }

  void along(float start, float end, std::int64_t bins, std::int64_t size, Touched& touched) const {
    const AxisSamples axis = reference::axis_samples(read_, static_cast<double>(start), static_cast<double>(end), bins);
    if (!(axis.count <= reference::kMaxSamples))
      fail(ErrorCode::invalid_input, "node '{}' ({}): a region asks for {} samples a bin, expected {} at most", node_,
           origin_, axis.count, reference::kMaxSamples);
    const auto sample = [&](std::int64_t bin, double i) { return axis.at(bin, i, size); };
    weigh(bins, axis.count, size, sample, touched);
  }

  Alignment read_;
};

class CropOp final : public WeighedOp {
 public:
  CropOp(const LowerContext& context, const Opaque& op) : WeighedOp(context), read_(reference::crop_of(op)) {}

 private:
  Sample row(const float* box, std::int64_t bin) const { return sample(box[0], box[2], bins_[2], shape_[2], bin); }
  Sample column(const float* box, std::int64_t bin) const { return sample(box[1], box[3], bins_[3], shape_[3], bin); }

  void touch(const float* box, Touched& rows, Touched& columns) const override {
    weigh(
        bins_[2], 1, shape_[2], [&](std::int64_t bin, double) { return row(box, bin); }, rows);
    weigh(
        bins_[3], 1, shape_[3], [&](std::int64_t bin, double) { return column(box, bin); }, columns);
  }

  void finish(const float* box, std::int64_t planes, float* out) const override {
    if (read_.outside == 0) return;
    for (std::int64_t y = 0; y < bins_[2]; ++y) {
      const bool is_row = row(box, y).inside;
      for (std::int64_t x = 0; x < bins_[3]; ++x) {
        if (is_row && column(box, x).inside) continue;
        for (std::int64_t plane = 0; plane < planes; ++plane)
          out[(plane * bins_[2] + y) * bins_[3] + x] = static_cast<float>(read_.outside);
      }
    }
  }

  Sample sample(float first, float last, std::int64_t bins, std::int64_t size, std::int64_t bin) const {
    const double at = reference::crop_point(static_cast<double>(first), static_cast<double>(last), size, bins, bin);
    if (!(at >= 0 && at <= static_cast<double>(size - 1))) return {};
    const auto low = static_cast<std::int64_t>(read_.nearest ? std::round(at) : at);
    return {low, std::min(low + 1, size - 1), read_.nearest ? 0 : at - static_cast<double>(low), true};
  }

  reference::Crop read_;
};

bool has_index_kernel(DType batches) { return batches == DType::i64 || batches == DType::i32; }

Match match(const Candidate& node) {
  const Opaque* align = opaque_of(node.node, reference::kRoiAlign);
  const bool crops = opaque_of(node.node, reference::kCropAndResize) != nullptr;
  if (align == nullptr && !crops && opaque_of(node.node, reference::kMaxRoiPool) == nullptr) return refuse();
  if (node.input(1).type.dtype != DType::f32) return refuse("regions of this type have no kernel");
  if (align != nullptr && reference::alignment_of(*align).max && reference::alignment_of(*align).sampling_ratio == 0)
    return refuse("no kernel for the largest of as many samples as the region has");
  if ((align != nullptr || crops) && !has_index_kernel(node.input(2).type.dtype))
    return refuse("indices of this type have no kernel");
  if (crops && node.input_shape(2)[0] != node.input_shape(1)[0]) return refuse("not as many images as regions");
  return take();
}

std::int64_t units(const Chosen& node) { return planes_of(node).units(); }

/// A bin takes a few pixels.
Effort effort(const Chosen& node, const Rates& rates) {
  constexpr double kPixels = 8;
  return {rates.seconds(Work::function, kPixels * elements_of(node.graph, node.node.outputs[0]), 1)};
}

bool takes_largest(const Opaque& op) {
  return op.definition == &reference::kMaxRoiPool ||
         (op.definition == &reference::kRoiAlign && reference::alignment_of(op).max);
}

std::int64_t workspace_bytes(const Chosen& node) {
  const auto& op = std::get<Opaque>(node.node.op);
  const std::int64_t floats = takes_largest(op) ? largest_scratch_floats(node, op)
                                                : WeighedOp::scratch_floats(node.input_shape(0), node.output_shape());
  return floats * static_cast<std::int64_t>(sizeof(float));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  const auto& op = std::get<Opaque>(context.node.op);
  if (takes_largest(op)) return make_largest(context, op);
  if (op.definition == &reference::kCropAndResize) return std::make_unique<CropOp>(context, op);
  return std::make_unique<AlignOp>(context, op);
}

}  // namespace

constinit const Family families::regions = whole_family({.name = "regions",
                                                         .types = kFloats,
                                                         .match = match,
                                                         .units = units,
                                                         .effort = effort,
                                                         .weights_bytes = no_bytes,
                                                         .workspace_bytes = workspace_bytes,
                                                         .lower = lower});

}  // namespace colonnade
