// SPDX-License-Identifier: Apache-2.0
#include "frontends/quantize/histogram.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace colonnade::quantize {
namespace {

std::vector<float> normal(std::size_t count, float deviation = 1) {
  std::mt19937 random(3);
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(random);
  return values;
}

std::uint64_t sum_of(const Histogram::Side& side) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : side) sum += count;
  return sum;
}

TEST(Histogram, CountsWhatItIsGivenWhileItsBinsGrow) {
  Histogram histogram;
  histogram.add(std::vector<float>{0.5F, -0.25F, 0});
  histogram.add(std::vector<float>{100, 3, -7});
  EXPECT_EQ(histogram.low(), -7);
  EXPECT_EQ(histogram.high(), 100);
  EXPECT_EQ(histogram.count(), 5u);
  EXPECT_EQ(sum_of(histogram.below()), 2u);
  EXPECT_EQ(sum_of(histogram.above()), 3u);
  EXPECT_GE(histogram.width() * Histogram::kBins, 100);
  EXPECT_EQ(histogram.above()[static_cast<std::size_t>(100 / histogram.width())], 1u);
  EXPECT_EQ(histogram.below()[static_cast<std::size_t>(7 / histogram.width())], 1u);
}

TEST(Histogram, BinsDoNotDependOnHowValuesAreShared) {
  const std::vector<float> values = normal(10000);
  Histogram together, apart;
  together.add(values);
  for (std::size_t i = 0; i < values.size(); i += 100) apart.add(std::span(values).subspan(i, 100));
  EXPECT_EQ(together.count(), apart.count());
  EXPECT_EQ(together.low(), apart.low());
  EXPECT_EQ(together.high(), apart.high());
  EXPECT_LE(apart.width(), 2 * together.width());
}

TEST(Histogram, NotFinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Histogram histogram;
    histogram.add(std::vector<float>{1, bad, 2});
    EXPECT_FALSE(histogram.is_finite());
  }
}

TEST(Range, OfNothingAndOfZeros) {
  Histogram histogram;
  histogram.add(std::vector<float>(7));
  for (const Method method : {Method::minmax, Method::percentile, Method::mse}) {
    const Range range = range_of(histogram, method);
    EXPECT_EQ(range.low, 0);
    EXPECT_EQ(range.high, 0);
  }
  EXPECT_EQ(bytes_for({0, 0}).scale, 1);
}

TEST(Range, MinmaxHasAllAndPercentileLeavesTheRareOut) {
  std::vector<float> values = normal(1000000);
  values[7] = 50;
  Histogram histogram;
  histogram.add(values);
  EXPECT_EQ(range_of(histogram, Method::minmax).high, 50);
  const Range most = range_of(histogram, Method::percentile);
  EXPECT_GT(most.high, 3.9F);
  EXPECT_LT(most.high, 4.7F);
  EXPECT_LT(most.low, -3.9F);
}

/// Squares of errors of the values themselves, which the histogram only estimates.
double error_of(const std::vector<float>& values, Range range) {
  const Bytes bytes = bytes_for(range);
  double sum = 0;
  for (const float value : values) {
    const float q =
        std::min(std::max(std::nearbyint(value / bytes.scale) + static_cast<float>(bytes.zero), 0.0F), 255.0F);
    const double d =
        static_cast<double>(value) - static_cast<double>((q - static_cast<float>(bytes.zero)) * bytes.scale);
    sum += d * d;
  }
  return sum;
}

TEST(Range, LeastSquaresIsAboutTheBest) {
  std::vector<float> values = normal(200000);
  values[5] = 40, values[6] = -12;
  Histogram histogram;
  histogram.add(values);
  const double found = error_of(values, range_of(histogram, Method::mse));
  EXPECT_LT(found, 0.75 * error_of(values, range_of(histogram, Method::minmax)));
  for (float low = -12; low < -1; low += 1)
    for (float high = 1; high < 40; high += 1)
      EXPECT_LT(found, 1.1 * error_of(values, {low, high})) << low << " " << high;
}

TEST(Range, BytesHoldZeroExactlyAndBothEnds) {
  const Bytes bytes = bytes_for({-1, 3});
  EXPECT_FLOAT_EQ(bytes.scale, 4.0F / 255);
  EXPECT_EQ(bytes.zero, 64);
  EXPECT_EQ(bytes_for({0, 5}).zero, 0);
  EXPECT_EQ(bytes_for({-5, 0}).zero, 255);
}

}  // namespace
}  // namespace colonnade::quantize
