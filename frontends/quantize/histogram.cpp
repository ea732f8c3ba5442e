// SPDX-License-Identifier: Apache-2.0
#include "histogram.hpp"

#include <algorithm>
#include <cmath>

namespace colonnade::quantize {
namespace {

constexpr double kLeftOut = 1e-5;  ///< of all values, at either end, by percentile
constexpr int kTries = 128;        ///< ends of a range that are tried, by mean of squares
constexpr double kSteps = 255;

/// Where a side ends when the largest values of it, at most so many, are left out.
double end_without(const Histogram::Side& side, double width, double left_out) {
  double seen = 0;
  for (std::size_t i = side.size(); i-- > 0;) {
    seen += static_cast<double>(side[i]);
    if (seen > left_out) return static_cast<double>(i + 1) * width;
  }
  return 0;
}

/// Squares of what is cut off a side that ends there.
double cut_off(const Histogram::Side& side, double width, double end) {
  double sum = 0;
  for (std::size_t i = static_cast<std::size_t>(end / width); i < side.size(); ++i) {
    const double beyond = (static_cast<double>(i) + 0.5) * width - end;
    if (beyond > 0) sum += beyond * beyond * static_cast<double>(side[i]);
  }
  return sum;
}

/// Each end in turn, the other one fixed, until neither moves.
Range least_squares(const Histogram& histogram) {
  double low = -static_cast<double>(histogram.low()), high = histogram.high();
  const double width = histogram.width();
  const auto error = [&](double below, double above) {
    const double step = (below + above) / kSteps;
    return step * step / 12 * static_cast<double>(histogram.count()) + cut_off(histogram.below(), width, below) +
           cut_off(histogram.above(), width, above);
  };
  for (int round = 0; round < 4; ++round) {
    const double before = error(low, high);
    double best = before, best_low = low, best_high = high;
    for (int i = 1; i < kTries; ++i) {
      const double part = static_cast<double>(i) / kTries;
      if (const double e = error(low, part * histogram.high()); e < best)
        best = e, best_low = low, best_high = part * histogram.high();
      if (const double e = error(part * -histogram.low(), high); e < best)
        best = e, best_low = part * -histogram.low(), best_high = high;
    }
    if (best >= before) break;
    low = best_low, high = best_high;
  }
  return {static_cast<float>(-low), static_cast<float>(high)};
}

}  // namespace

void Histogram::add(std::span<const float> values) {
  float low = low_, high = high_;
  bool is_finite = true;
  for (const float value : values) {
    is_finite = is_finite && std::isfinite(value);
    low = std::min(low, value), high = std::max(high, value);
  }
  if (!is_finite) is_finite_ = false;
  if (!is_finite_) return;
  low_ = low, high_ = high;
  grow(std::max(-low, high));
  if (width_ == 0) return;
  const double bins_per_unit = 1 / width_;
  for (const float value : values) {
    if (value == 0) continue;
    const auto bin =
        std::min(static_cast<std::size_t>(std::abs(static_cast<double>(value)) * bins_per_unit), kBins - 1);
    ++(value < 0 ? below_ : above_)[bin];
    ++count_;
  }
}

void Histogram::grow(float largest) {
  if (width_ == 0) width_ = static_cast<double>(largest) / kBins;
  while (static_cast<double>(largest) > width_ * kBins) {
    for (Side* side : {&below_, &above_}) {
      for (std::size_t i = 0; i < kBins / 2; ++i) (*side)[i] = (*side)[2 * i] + (*side)[2 * i + 1];
      std::fill(side->begin() + kBins / 2, side->end(), 0);
    }
    width_ *= 2;
  }
}

Range range_of(const Histogram& histogram, Method method) {
  const Range all{histogram.low(), histogram.high()};
  if (method == Method::minmax || histogram.count() == 0) return all;
  if (method == Method::mse) return least_squares(histogram);
  const double left_out = kLeftOut * static_cast<double>(histogram.count());
  const auto below = static_cast<float>(end_without(histogram.below(), histogram.width(), left_out));
  const auto above = static_cast<float>(end_without(histogram.above(), histogram.width(), left_out));
  return {std::max(all.low, -below), std::min(all.high, above)};
}

Range together(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

Bytes bytes_for(Range range) {
  const double width = static_cast<double>(range.high) - static_cast<double>(range.low);
  const auto scale = static_cast<float>(width / kSteps);
  if (!(scale > 1e-30F)) return {};
  const double zero = std::nearbyint(-static_cast<double>(range.low) / static_cast<double>(scale));
  return {scale, static_cast<std::uint8_t>(std::clamp(zero, 0.0, kSteps))};
}

}  // namespace colonnade::quantize
