// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"

namespace colonnade::reference {
namespace {

using Padding = GridSample::Padding;

/// x mirrored at low and high until it lies between them.
double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double distance = x < low ? low - x : x - high;
  if (distance <= 0) return x;
  const double flips = std::floor(distance / range), rest = distance - flips * range;
  const bool even = std::fmod(flips, 2.0) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

struct AxisTap {
  std::int64_t index = 0;  ///< -1 where the element is outside and counts as zero
  double weight = 0;
};

/// How one coordinate of the grid reads one axis of x.
class AxisSampler {
 public:
  AxisSampler(const GridSample& op, std::int64_t size)
      : op_(op),
        size_(size),
        low_(op.align_corners ? 0 : -0.5),
        high_(static_cast<double>(size) - (op.align_corners ? 1 : 0.5)) {}

  std::vector<AxisTap> taps(double grid) const {
    double x = position(grid);
    if (op_.mode == ResizeMode::nearest) x = std::nearbyint(x);
    if (x < low_ || x > high_) x = folded(x);
    // Beyond this the neighbours of x are outside all the same; it keeps them within integers.
    x = std::clamp(std::isnan(x) ? -1e9 : x, -1e9, 1e9);
    const double base = std::floor(x);
    switch (op_.mode) {
      case ResizeMode::nearest: return {{element(x), 1}};
      case ResizeMode::linear: return {{element(base), 1 - (x - base)}, {element(base + 1), x - base}};
      case ResizeMode::cubic: break;
    }
    std::vector<AxisTap> result;
    for (int i = -1; i <= 2; ++i) result.push_back({element(base + i), cubic(x - base - i)});
    return result;
  }

 private:
  double position(double grid) const {
    const auto size = static_cast<double>(size_);
    return op_.align_corners ? (grid + 1) / 2 * (size - 1) : ((grid + 1) * size - 1) / 2;
  }

  double folded(double x) const {
    switch (op_.padding) {
      case Padding::zeros: return x;
      case Padding::border: return std::clamp(x, 0.0, static_cast<double>(size_ - 1));
      case Padding::reflection: break;
    }
    return reflect(x, low_, high_);
  }

  std::int64_t element(double index) const {
    if (index >= 0 && index < static_cast<double>(size_)) return static_cast<std::int64_t>(index);
    if (op_.padding == Padding::zeros) return -1;
    const double inside = op_.padding == Padding::border ? index : std::trunc(reflect(index, low_, high_));
    return static_cast<std::int64_t>(std::clamp(inside, 0.0, static_cast<double>(size_ - 1)));
  }

  static double cubic(double distance) {
    constexpr double kA = -0.75;
    const double d = std::abs(distance);
    if (d <= 1) return ((kA + 2) * d - (kA + 3)) * d * d + 1;
    return d < 2 ? ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA : 0;
  }

  const GridSample& op_;
  std::int64_t size_;
  double low_, high_;
};

/// Sum over all combinations of the axes' taps.
double weighted_sum(std::span<const std::vector<AxisTap>> taps, std::span<const std::int64_t> strides,
                    const double* x) {
  if (taps.empty()) return *x;
  double sum = 0;
  for (const AxisTap& tap : taps.front()) {
    if (tap.index < 0) continue;
    sum += tap.weight * weighted_sum(taps.subspan(1), strides.subspan(1), x + tap.index * strides.front());
  }
  return sum;
}

}  // namespace

Tensors apply(const GridSample& op, const Call& call) {
  const Tensor& x = call.input(0);
  const Tensor& grid = call.input(1);
  const Shape& shape = x.shape();
  const std::size_t rank = shape.size() - 2;
  const Ints spatial(shape.begin() + 2, shape.end()), strides = strides_of(spatial);
  const std::int64_t channels = shape[1], inputs = element_count(spatial);
  const std::int64_t positions = product(grid.shape(), 1, grid.shape().size() - 1);
  const std::vector<double> values = load_all<double>(x), coordinates = load_all<double>(grid);
  Tensor y(x.dtype(), call.shape());
  if (inputs == 0 && y.size() > 0) call.invalid("there is nothing to sample");
  std::vector<AxisSampler> samplers;
  for (const std::int64_t size : spatial) samplers.emplace_back(op, size);
  std::vector<std::vector<AxisTap>> taps(rank);
  for (std::int64_t image = 0; image < shape[0]; ++image) {
    for (std::int64_t p = 0; p < positions; ++p) {
      const double* coordinate = coordinates.data() + (image * positions + p) * static_cast<std::int64_t>(rank);
      for (std::size_t axis = 0; axis < rank; ++axis) taps[axis] = samplers[axis].taps(coordinate[rank - 1 - axis]);
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t plane = image * channels + c;
        const double sum = weighted_sum(taps, strides, values.data() + plane * inputs);
        store(&sum, 1, y, plane * positions + p);
      }
    }
  }
  return {std::move(y)};
}

}  // namespace colonnade::reference
