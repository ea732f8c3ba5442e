// SPDX-License-Identifier: Apache-2.0
// The transform of filters: their values at the points of a tile, in double precision.
#pragma once

#include <cstddef>
#include <limits>

#include "kernels/winograd/blocks.hpp"

namespace colonnade::kernels::winograd {
namespace {

inline constexpr std::size_t kMostTaps = 5;
inline constexpr std::size_t kMostInputs = 8;
inline constexpr double kRoot2 = 1.4142135623730950488;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Evaluates a filter at a point, scaled: by the reciprocal of the product of its distances to the other points.
struct FilterRow {
  double scale;
  double point;

  /// What tap `t` of `taps` counts.
  double factor(std::size_t t, std::size_t taps) const {
    if (point == kInfinity) return t + 1 == taps ? scale : 0;
    double factor = scale;
    for (; t > 0; --t) factor *= point;
    return factor;
  }
};

inline constexpr FilterRow kEightPoints[] = {{1, 0},         {-2.0 / 9, 1},    {-2.0 / 9, -1},    {1.0 / 90, 2},
                                             {1.0 / 90, -2}, {32.0 / 45, 0.5}, {32.0 / 45, -0.5}, {1, kInfinity}};
inline constexpr FilterRow kSixPoints[] = {
    {1, 0}, {-2.0 / 3, kRoot2 / 2}, {-2.0 / 3, -kRoot2 / 2}, {1.0 / 6, kRoot2}, {1.0 / 6, -kRoot2}, {1, kInfinity}};
inline constexpr FilterRow kFourPoints[] = {{1, 0}, {0.5, 1}, {0.5, -1}, {1, kInfinity}};

/// Of a tile of so many inputs.
inline const FilterRow* filter_rows(std::size_t inputs) {
  return inputs == 8 ? kEightPoints : inputs == 6 ? kSixPoints : kFourPoints;
}

using Lanes = double[kLine];

/// What each tap counts at each point. Points but the first, zero, and the last, infinity, come in pairs of both signs.
struct Factors {
  Factors(std::size_t inputs, std::size_t taps) {
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t t = 0; t < taps; ++t) at[i][t] = filter_rows(inputs)[i].factor(t, taps);
  }
  double at[kMostInputs][kMostTaps] = {};
};

/// Evaluates a line of taps at all points: taps lie `from_step` apart, values `to_step`. The even and the odd taps of a
/// pair of points are added up once.
template <std::size_t kTaps>
void evaluate(const Factors& factors, std::size_t side, const Lanes* from, std::size_t from_step, Lanes* to,
              std::size_t to_step) {
  for (std::size_t lane = 0; lane < kLine; ++lane) {
    to[0][lane] = factors.at[0][0] * from[0][lane];
    to[(side - 1) * to_step][lane] = factors.at[side - 1][kTaps - 1] * from[(kTaps - 1) * from_step][lane];
  }
  for (std::size_t i = 1; i + 1 < side; i += 2)
    for (std::size_t lane = 0; lane < kLine; ++lane) {
      double sums[2] = {};
#pragma GCC unroll 8
      for (std::size_t t = 0; t < kTaps; ++t) sums[t % 2] += factors.at[i][t] * from[t * from_step][lane];
      to[i * to_step][lane] = sums[0] + sums[1];
      to[(i + 1) * to_step][lane] = sums[0] - sums[1];
    }
}

}  // namespace
}  // namespace colonnade::kernels::winograd
