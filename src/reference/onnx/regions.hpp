// SPDX-License-Identifier: Apache-2.0
// What RoiAlign, MaxRoiPool and CropAndResize read of an image: shared by their definitions and their kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/interval.hpp"
#include "graph/opaque.hpp"

namespace colonnade::reference {

struct Alignment {
  bool max = false, half_pixel = true;
  std::int64_t height = 1, width = 1, sampling_ratio = 0;
  double scale = 1;
};
/// Of a RoiAlign. Throws Error{invalid_model} for attributes that are no good.
Alignment alignment_of(const Opaque& op);

/// Height and width that a MaxRoiPool pools to. Throws likewise.
Ints pooled_shape(const Opaque& op);

/// Samples along one axis of a bin; more of them than this say that the box is nonsense.
inline constexpr double kMaxSamples = 1 << 12;

/// Where a sample lies along one axis: two neighbours and the share of the second; no neighbours outside.
struct Sample {
  std::int64_t low = 0, high = 0;
  double share = 0;
  bool inside = false;
};
Sample sample_at(double position, std::int64_t size);

/// The samples of a region along one axis.
struct AxisSamples {
  double first = 0, bin = 0;  ///< where the first bin begins, and how long they are
  double count = 0;           ///< of each bin

  Sample at(std::int64_t bin_index, double i, std::int64_t size) const {
    return sample_at(first + static_cast<double>(bin_index) * bin + (i + 0.5) * bin / count, size);
  }
};
/// Of `bins` bins from `start` to `end`, in the coordinates of regions. More than kMaxSamples are the caller's to
/// refuse.
AxisSamples axis_samples(const Alignment& read, double start, double end, std::int64_t bins);

/// The pixels [first, last) of one bin of a MaxRoiPool along one axis of `size` pixels.
Interval bin_pixels(double start, double end, std::int64_t bin, std::int64_t bins, std::int64_t size);

/// How a CropAndResize samples, and what it finds outside of an image.
struct Crop {
  bool nearest = false;
  double outside = 0;
};
/// Throws Error{invalid_model} for attributes that are no good.
Crop crop_of(const Opaque& op);
/// Where one axis of a crop is sampled: `count` points spread from corner to corner of [first, last], both as shares
/// of the image's axis.
double crop_point(double first, double last, std::int64_t size, std::int64_t count, std::int64_t index);

}  // namespace colonnade::reference
