// SPDX-License-Identifier: Apache-2.0
// What the row-kernel tests share: buffers between unmapped pages, random values, distances in units in the last place.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/isa.hpp"
#include "support/guarded.hpp"

namespace colonnade::kernels::test {

using colonnade::test::Edge;
using Guarded = colonnade::test::GuardedFloats;

inline std::vector<float> random_floats(std::size_t size, unsigned seed, float low = -1.0f, float high = 1.0f) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(size);
  for (float& x : values) x = distribution(generator);
  return values;
}

/// |got - want| in units in the last place of want as a float; 0 for equal infinities and two NaN.
inline double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
  if (std::isnan(got)) return 1e30;
  const double limit = std::numeric_limits<float>::max();
  const bool huge = std::fabs(want) > limit;
  if (std::isinf(got) || huge) {
    const bool close = std::fabs(want) > limit * (1 - 1e-6) && (std::isinf(got) || std::fabs(got) > 3.40e38f);
    return close && (got < 0) == (want < 0) ? 0 : 1e30;
  }
  const int exponent = want == 0 ? -149 : std::max(std::ilogb(want) - 23, -149);
  return std::fabs(got - want) / std::ldexp(1.0, exponent);
}

/// The channel counts around the vector widths 4, 8 and 16, and a few primes.
inline constexpr std::size_t kChannelCounts[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 67};

/// The rows of a family's table that this host runs, their names printed once a test.
template <class Kernel>
std::vector<Kernel> runnable(std::span<const Kernel> table) {
  std::vector<Kernel> rows;
  std::string names;
  for (const Kernel& kernel : table) {
    if (!host_features().contains(kernel.isa)) {
      names += std::string(" (skipped ") + kernel.name + ")";
      continue;
    }
    rows.push_back(kernel);
    names += std::string(" ") + kernel.name;
  }
  static std::string printed;
  if (printed != names) std::printf("[   ROWS   ]%s\n", names.c_str());
  printed = names;
  EXPECT_FALSE(rows.empty());
  return rows;
}

}  // namespace colonnade::kernels::test
