// SPDX-License-Identifier: Apache-2.0
// Which values a tensor has, folded as they come, and the ranges that bytes should stand for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "quantize.hpp"

namespace colonnade::quantize {

/// Counts of values by size, negative and positive apart, in bins of one width; it doubles when a value lies beyond.
/// Zeros are exact in any range and count nowhere.
class Histogram {
 public:
  static constexpr std::size_t kBins = 2048;  ///< on either side of zero
  using Side = std::array<std::uint64_t, kBins>;

  void add(std::span<const float> values);

  float low() const { return low_; }    ///< the least value, at most 0
  float high() const { return high_; }  ///< the largest, at least 0
  std::uint64_t count() const { return count_; }
  bool is_finite() const { return is_finite_; }  ///< no value was NaN or infinite
  double width() const { return width_; }
  const Side& below() const { return below_; }  ///< below()[i]: values in [-(i + 1) * width, -i * width)
  const Side& above() const { return above_; }

 private:
  void grow(float largest);

  Side below_{}, above_{};
  double width_ = 0;
  float low_ = 0, high_ = 0;
  std::uint64_t count_ = 0;
  bool is_finite_ = true;
};

/// A range of floats; contains zero.
struct Range {
  float low = 0, high = 0;
};
Range range_of(const Histogram& histogram, Method method);
Range together(Range a, Range b);

/// A byte q stands for (q - zero) * scale.
struct Bytes {
  float scale = 1;
  std::uint8_t zero = 0;
};
Bytes bytes_for(Range range);

}  // namespace colonnade::quantize
