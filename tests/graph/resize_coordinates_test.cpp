// SPDX-License-Identifier: Apache-2.0
#include "graph/resize_coordinates.hpp"

#include <cmath>

#include "graph/builder.hpp"

namespace colonnade::test {
namespace {

std::vector<double> resized(const Resize& op, const ResizeAxis& axis, const std::vector<double>& x) {
  const ResizeTaps taps = resize_taps(op, axis);
  std::vector<double> y;
  for (std::int64_t row = 0; row < axis.out_size; ++row) {
    double sum = 0;
    for (std::int64_t tap = 0; tap < taps.taps; ++tap) {
      const auto index = static_cast<std::size_t>(row * taps.taps + tap);
      sum += taps.weights[index] * x[static_cast<std::size_t>(taps.indices[index])];
    }
    const bool outside = !taps.outside.empty() && taps.outside[static_cast<std::size_t>(row)];
    y.push_back(outside ? static_cast<double>(op.extrapolation) : sum);
  }
  return y;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t index = 0; index < expected.size(); ++index)
    EXPECT_NEAR(actual[index], expected[index], 1e-6) << index;
}

Resize resize(ResizeMode mode, CoordinateMode coordinates) {
  Resize op;
  op.mode = mode;
  op.coordinates = coordinates;
  return op;
}

ResizeAxis by_scale(std::int64_t size, double scale) {
  return {size, static_cast<std::int64_t>(std::floor(static_cast<double>(size) * scale)), scale};
}

TEST(ResizeTaps, LinearHalfPixel) {
  expect_near(resized(resize(ResizeMode::linear, CoordinateMode::half_pixel), by_scale(2, 2), {1, 2}),
              {1, 1.25, 1.75, 2});
}

TEST(ResizeTaps, LinearAlignCorners) {
  const Resize op = resize(ResizeMode::linear, CoordinateMode::align_corners);
  expect_near(resized(op, by_scale(2, 2), {1, 2}), {1, 4.0 / 3, 5.0 / 3, 2});
  // ONNX measures the resized length before rounding: 4 * 0.6 = 2.4.
  expect_near(resized(op, by_scale(4, 0.6), {1, 2, 3, 4}), {1, 1 + 3 / 1.4});
}

TEST(ResizeTaps, HalfPixelSymmetricIsCentred) {
  const Resize op = resize(ResizeMode::linear, CoordinateMode::half_pixel_symmetric);
  expect_near(resized(op, by_scale(4, 0.6), {1, 2, 3, 4}), {2.5 - 0.5 / 0.6, 2.5 + 0.5 / 0.6});
}

TEST(ResizeTaps, PytorchHalfPixelOfOneElement) {
  const Resize op = resize(ResizeMode::cubic, CoordinateMode::pytorch_half_pixel);
  expect_near(resized(op, {4, 1, 0.25}, {1, 2, 3, 4}), {1});
}

TEST(ResizeTaps, CubicHalfPixel) {
  // Keys' kernel with a = -0.75 at a distance of 1/4 and 3/4, edges repeated.
  expect_near(resized(resize(ResizeMode::cubic, CoordinateMode::half_pixel), by_scale(4, 2), {1, 2, 3, 4}),
              {0.89453125, 1.19140625, 1.66796875, 2.296875, 2.703125, 3.33203125, 3.80859375, 4.10546875});
}

TEST(ResizeTaps, ExcludeOutsideRenormalises) {
  Resize op = resize(ResizeMode::cubic, CoordinateMode::half_pixel);
  op.exclude_outside = true;
  op.cubic_a = -0.5f;
  const ResizeTaps taps = resize_taps(op, by_scale(4, 2));
  for (std::int64_t row = 0; row < 8; ++row) {
    double sum = 0;
    for (std::int64_t tap = 0; tap < 4; ++tap) sum += taps.weights[static_cast<std::size_t>(row * 4 + tap)];
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  EXPECT_EQ(taps.weights[0], 0);
  expect_near(resized(op, by_scale(4, 2), {1, 1, 1, 1}), std::vector<double>(8, 1.0));
}

TEST(ResizeTaps, NearestModes) {
  const ResizeAxis axis = by_scale(4, 1.5);  // asymmetric: 0, 2/3, 4/3, 2, 8/3, 10/3
  Resize op = resize(ResizeMode::nearest, CoordinateMode::asymmetric);
  const std::vector<double> x = {0, 1, 2, 3};
  op.nearest = NearestMode::floor;
  expect_near(resized(op, axis, x), {0, 0, 1, 2, 2, 3});
  op.nearest = NearestMode::ceil;
  expect_near(resized(op, axis, x), {0, 1, 2, 2, 3, 3});
  const ResizeAxis half = by_scale(4, 2);  // asymmetric: ties at .5
  op.nearest = NearestMode::round_prefer_floor;
  expect_near(resized(op, half, x), {0, 0, 1, 1, 2, 2, 3, 3});
  op.nearest = NearestMode::round_prefer_ceil;
  expect_near(resized(op, half, x), {0, 1, 1, 2, 2, 3, 3, 3});
}

TEST(ResizeTaps, CropAndExtrapolate) {
  Resize op = resize(ResizeMode::linear, CoordinateMode::tf_crop_and_resize);
  op.extrapolation = 10;
  expect_near(resized(op, {4, 3, 0.75, 0.4, 0.6}, {1, 2, 3, 4}), {2.2, 2.5, 2.8});
  expect_near(resized(op, {4, 3, 0.75, 0.5, 1.5}, {1, 2, 3, 4}), {2.5, 4, 10});
  expect_near(resized(op, {4, 1, 0.25, 0.0, 1.0}, {1, 2, 3, 4}), {2.5});
}

TEST(ResizeTaps, AntialiasWidensTheKernel) {
  Resize op = resize(ResizeMode::linear, CoordinateMode::half_pixel);
  op.antialias = true;
  // Output 0 is centred at 0.5; weights of distances .5, .5, 1.5 at half scale: .75, .75, .25, and the left edge .25.
  const ResizeTaps taps = resize_taps(op, by_scale(4, 0.5));
  EXPECT_EQ(taps.taps, 4);
  expect_near(resized(op, by_scale(4, 0.5), {1, 2, 3, 4}), {1.625, 3.375});
}

TEST(ResizeTaps, PartsEqualTheWhole) {
  const Resize op = resize(ResizeMode::cubic, CoordinateMode::half_pixel);
  const ResizeAxis axis = by_scale(7, 2.3);
  const ResizeTaps all = resize_taps(op, axis);
  const ResizeTaps part = resize_taps(op, axis, {5, 9});
  for (std::size_t index = 0; index < part.weights.size(); ++index) {
    EXPECT_EQ(part.weights[index], all.weights[20 + index]);
    EXPECT_EQ(part.indices[index], all.indices[20 + index]);
  }
}

}  // namespace
}  // namespace colonnade::test
