// SPDX-License-Identifier: Apache-2.0
// The largest pixel (MaxRoiPool) or sample (RoiAlign) of each bin of a region.
#include <cmath>
#include <limits>

#include "families/region_op.hpp"
#include "graph/shape_rules.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade {
namespace {

using reference::Alignment;
using reference::AxisSamples;
using reference::Sample;

/// The largest weighed neighbour of any sample of a bin.
class LargestSampleOp final : public RegionOp {
 public:
  LargestSampleOp(const LowerContext& context, const Opaque& op)
      : RegionOp(context), batches_(context, 2), read_(reference::alignment_of(op)) {}

  std::string_view kernel() const override { return "largest"; }

  static std::int64_t scratch_floats(const Alignment& read) {
    return (read.height + read.width) * read.sampling_ratio * static_cast<std::int64_t>(sizeof(Near) / sizeof(float));
  }

 private:
  /// A sample along one axis: two neighbours and their weights.
  struct Near {
    std::int32_t low, high;
    float low_weight, high_weight;
    std::int32_t inside;
  };

  void pool(const StepContext& step, std::int64_t index, Interval channels, float* out) const override {
    const float* box = region(step, index, 4);
    const float* plane = planes(step, batches_.of(step, index), channels.begin);
    auto* rows = reinterpret_cast<Near*>(step.scratch);
    Near* columns = rows + bins_[2] * read_.sampling_ratio;
    find(box[1], box[3], bins_[2], shape_[2], rows);
    find(box[0], box[2], bins_[3], shape_[3], columns);
    for (std::int64_t c = channels.begin; c < channels.end; ++c, plane += shape_[2] * shape_[3])
      for (std::int64_t y = 0; y < bins_[2]; ++y)
        for (std::int64_t x = 0; x < bins_[3]; ++x)
          *out++ = largest(plane, rows + y * read_.sampling_ratio, columns + x * read_.sampling_ratio);
  }

  void find(float start, float end, std::int64_t bins, std::int64_t size, Near* samples) const {
    const AxisSamples axis = reference::axis_samples(read_, static_cast<double>(start), static_cast<double>(end), bins);
    for (std::int64_t bin = 0; bin < bins; ++bin)
      for (double i = 0; i < axis.count; ++i) {
        const Sample at = axis.at(bin, i, size);
        *samples++ = {static_cast<std::int32_t>(at.low), static_cast<std::int32_t>(at.high),
                      static_cast<float>(1 - at.share), static_cast<float>(at.share), at.inside ? 1 : 0};
      }
  }

  float largest(const float* plane, const Near* rows, const Near* columns) const {
    float peak = -std::numeric_limits<float>::infinity();
    const auto take = [&](float value) { peak = value > peak ? value : peak; };
    for (std::int64_t i = 0; i < read_.sampling_ratio; ++i) {
      const Near& y = rows[i];
      const float *low = plane + y.low * shape_[3], *high = plane + y.high * shape_[3];
      for (std::int64_t k = 0; k < read_.sampling_ratio; ++k) {
        const Near& x = columns[k];
        if (y.inside == 0 || x.inside == 0) {
          take(0);
          continue;
        }
        take(y.low_weight * x.low_weight * low[x.low]);
        take(y.low_weight * x.high_weight * low[x.high]);
        take(y.high_weight * x.low_weight * high[x.low]);
        take(y.high_weight * x.high_weight * high[x.high]);
      }
    }
    return peak;
  }

  Batches batches_;
  Alignment read_;
};

/// Of whole pixels.
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

}  // namespace

std::unique_ptr<RowOp> make_largest(const LowerContext& context, const Opaque& op) {
  if (op.definition == &reference::kMaxRoiPool) return std::make_unique<LargestOp>(context, op);
  return std::make_unique<LargestSampleOp>(context, op);
}

std::int64_t largest_scratch_floats(const Subject& node, const Opaque& op) {
  if (op.definition == &reference::kMaxRoiPool) return LargestOp::scratch_floats(node.output_shape());
  return LargestSampleOp::scratch_floats(reference::alignment_of(op));
}

}  // namespace colonnade
