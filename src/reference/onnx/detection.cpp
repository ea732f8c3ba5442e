// SPDX-License-Identifier: Apache-2.0
// Regions of images: RoiAlign, MaxRoiPool.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/checked.hpp"
#include "base/lists.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/indexing.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/regions.hpp"

namespace colonnade::reference {
namespace {

// RoiAlign

Types infer_align(const Opaque& op, const RuleContext& ctx) {
  const Alignment read = alignment_of(op);
  ctx.inputs(3, 3);
  ctx.rank(0, 4);
  ctx.rank(1, 2);
  ctx.dim(1, 1, 4, "a region");
  ctx.rank(2, 1);
  const std::int64_t regions = ctx.shape(1) ? (*ctx.shape(1))[0] : kUnknownDim;
  ctx.dim(2, 0, regions, "the regions");
  const std::int64_t channels = ctx.shape(0) ? (*ctx.shape(0))[1] : kUnknownDim;
  return {{ctx.dtype(0), Shape{regions, channels, read.height, read.width}}};
}

/// The samples of all bins along one axis, bin by bin.
std::vector<Sample> samples_of(const Alignment& read, double start, double end, std::int64_t bins, std::int64_t size,
                               const Call& call) {
  const AxisSamples axis = axis_samples(read, start, end, bins);
  if (!(axis.count <= kMaxSamples)) call.invalid("a region asks for {} samples a bin", axis.count);
  std::vector<Sample> samples;
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    for (double i = 0; i < axis.count; ++i) samples.push_back(axis.at(bin, i, size));
  }
  return samples;
}

double pooled(const double* plane, std::int64_t width, std::span<const Sample> ys, std::span<const Sample> xs,
              bool max) {
  double sum = 0, peak = -std::numeric_limits<double>::infinity();
  for (const Sample& y : ys) {
    for (const Sample& x : xs) {
      if (!y.inside || !x.inside) {
        peak = std::max(peak, 0.0);
        continue;
      }
      const double* low = plane + y.low * width;
      const double* high = plane + y.high * width;
      const double parts[] = {(1 - y.share) * (1 - x.share) * low[x.low], (1 - y.share) * x.share * low[x.high],
                              y.share * (1 - x.share) * high[x.low], y.share * x.share * high[x.high]};
      sum += parts[0] + parts[1] + parts[2] + parts[3];
      peak = std::max(peak, *std::max_element(parts, parts + 4));
    }
  }
  const std::size_t count = ys.size() * xs.size();
  if (count == 0) return 0;
  return max ? peak : sum / static_cast<double>(count);
}

Data evaluate_align(const Opaque& op, const Call& call) {
  const Alignment read = alignment_of(op);
  const Shape &x = call.input(0).shape(), shape = call.shape();
  const std::vector<double> image = load_all<double>(call.input(0)), regions = load_all<double>(call.input(1));
  const Ints batches = call.ints(2);
  std::vector<double> y;
  y.reserve(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t r = 0; r < batches.size(); ++r) {
    if (batches[r] < 0 || batches[r] >= x[0]) call.invalid("batch index {} is out of range [0,{})", batches[r], x[0]);
    const double* box = regions.data() + r * 4;
    const auto xs = samples_of(read, box[0], box[2], read.width, x[3], call);
    const auto ys = samples_of(read, box[1], box[3], read.height, x[2], call);
    const std::size_t across = xs.size() / static_cast<std::size_t>(read.width);
    const std::size_t down = ys.size() / static_cast<std::size_t>(read.height);
    for (std::int64_t c = 0; c < x[1]; ++c) {
      const double* plane = image.data() + (batches[r] * x[1] + c) * x[2] * x[3];
      for (std::size_t bin = 0; bin < static_cast<std::size_t>(read.height * read.width); ++bin) {
        const std::size_t row = bin / static_cast<std::size_t>(read.width);
        const std::size_t column = bin % static_cast<std::size_t>(read.width);
        y.push_back(pooled(plane, x[3], std::span(ys).subspan(row * down, down),
                           std::span(xs).subspan(column * across, across), read.max));
      }
    }
  }
  return {tensor_of(call.dtype(), shape, y)};
}

// MaxRoiPool

Types infer_roi_pool(const Opaque& op, const RuleContext& ctx) {
  const Ints pooled = pooled_shape(op);
  op.float_or("spatial_scale", 1);
  ctx.inputs(2, 2);
  ctx.rank(0, 4);
  ctx.rank(1, 2);
  ctx.dim(1, 1, 5, "a region");
  const std::int64_t regions = ctx.shape(1) ? (*ctx.shape(1))[0] : kUnknownDim;
  const std::int64_t channels = ctx.shape(0) ? (*ctx.shape(0))[1] : kUnknownDim;
  return {{ctx.dtype(0), Shape{regions, channels, pooled[0], pooled[1]}}};
}

double largest(const double* plane, std::int64_t width, Interval rows, Interval columns) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return 0;
  double peak = -std::numeric_limits<double>::infinity();
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    peak = std::max(peak, *std::max_element(plane + row * width + columns.begin, plane + row * width + columns.end));
  }
  return peak;
}

Data evaluate_roi_pool(const Opaque& op, const Call& call) {
  const Ints pooled = pooled_shape(op);
  const auto scale = static_cast<double>(op.float_or("spatial_scale", 1));
  const Shape& x = call.input(0).shape();
  const std::vector<double> image = load_all<double>(call.input(0)), regions = load_all<double>(call.input(1));
  std::vector<double> y;
  for (std::size_t r = 0; r + 5 <= regions.size(); r += 5) {
    std::array<double, 4> box{};
    for (std::size_t i = 0; i < 4; ++i) {
      box[i] = std::round(regions[r + 1 + i] * scale);
      if (!(std::abs(box[i]) <= static_cast<double>(kMaxDim))) call.invalid("a region reaches to {}", box[i]);
    }
    if (!(regions[r] >= 0 && regions[r] < static_cast<double>(x[0]))) {
      call.invalid("batch index {} is out of range [0,{})", regions[r], x[0]);
    }
    for (std::int64_t c = 0; c < x[1]; ++c) {
      const double* plane = image.data() + (static_cast<std::int64_t>(regions[r]) * x[1] + c) * x[2] * x[3];
      for (std::int64_t row = 0; row < pooled[0]; ++row) {
        const Interval rows = bin_pixels(box[1], box[3], row, pooled[0], x[2]);
        for (std::int64_t column = 0; column < pooled[1]; ++column) {
          y.push_back(largest(plane, x[3], rows, bin_pixels(box[0], box[2], column, pooled[1], x[3])));
        }
      }
    }
  }
  return {tensor_of(call.dtype(), call.shape(), y)};
}

}  // namespace

Alignment alignment_of(const Opaque& op) {
  Alignment read;
  const std::string mode = op.string_or("mode", "avg");
  if (mode != "avg" && mode != "max") fail(ErrorCode::invalid_model, "attribute 'mode': '{}' does not exist", mode);
  const std::string transform =
      op.version < 16 ? "output_half_pixel" : op.string_or("coordinate_transformation_mode", "half_pixel");
  if (transform != "half_pixel" && transform != "output_half_pixel") {
    fail(ErrorCode::invalid_model, "attribute 'coordinate_transformation_mode': '{}' does not exist", transform);
  }
  read.max = mode == "max";
  read.half_pixel = transform == "half_pixel";
  read.height = op.int_or("output_height", 1);
  read.width = op.int_or("output_width", 1);
  read.sampling_ratio = op.int_or("sampling_ratio", 0);
  read.scale = static_cast<double>(op.float_or("spatial_scale", 1));
  if (read.height < 1 || read.width < 1 || read.height > kMaxDim || read.width > kMaxDim) {
    fail(ErrorCode::invalid_model, "expected a positive output size, found {}x{}", read.height, read.width);
  }
  if (read.sampling_ratio < 0 || static_cast<double>(read.sampling_ratio) > kMaxSamples) {
    fail(ErrorCode::invalid_model, "attribute 'sampling_ratio': {} is out of range", read.sampling_ratio);
  }
  return read;
}

Sample sample_at(double position, std::int64_t size) {
  if (!(position >= -1) || position > static_cast<double>(size) || size == 0) return {};
  const double clamped = std::max(position, 0.0);
  const auto low = static_cast<std::int64_t>(clamped);
  if (low >= size - 1) return {size - 1, size - 1, 0, true};
  return {low, low + 1, clamped - static_cast<double>(low), true};
}

AxisSamples axis_samples(const Alignment& read, double start, double end, std::int64_t bins) {
  const double offset = read.half_pixel ? 0.5 : 0;
  const double first = start * read.scale - offset, last = end * read.scale - offset;
  const double length = read.half_pixel ? last - first : std::max(last - first, 1.0);
  const double bin = length / static_cast<double>(bins);
  return {first, bin, read.sampling_ratio > 0 ? static_cast<double>(read.sampling_ratio) : std::ceil(bin)};
}

Ints pooled_shape(const Opaque& op) {
  const Ints shape = op.ints_or("pooled_shape");
  const bool in_range = std::all_of(shape.begin(), shape.end(), [](auto dim) { return dim >= 1 && dim <= kMaxDim; });
  if (shape.size() != 2 || !in_range) {
    fail(ErrorCode::invalid_model, "attribute 'pooled_shape': expected two positive sizes");
  }
  return shape;
}

Interval bin_pixels(double start, double end, std::int64_t bin, std::int64_t bins, std::int64_t size) {
  const double length = std::max(end - start + 1, 1.0) / static_cast<double>(bins);
  const auto clipped = [&](double at) {
    return static_cast<std::int64_t>(std::clamp(at + start, 0.0, static_cast<double>(size)));
  };
  return {clipped(std::floor(static_cast<double>(bin) * length)),
          clipped(std::ceil(static_cast<double>(bin + 1) * length))};
}

constexpr Definition kRoiAlign{"RoiAlign", infer_align, evaluate_align};
constexpr Definition kMaxRoiPool{"MaxRoiPool", infer_roi_pool, evaluate_roi_pool};

}  // namespace colonnade::reference
