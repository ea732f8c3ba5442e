// SPDX-License-Identifier: Apache-2.0
// Image files as inputs of models.
#include <gtest/gtest.h>

#include <cmath>

#include "frontends/image/image.hpp"
#include "support/image_files.hpp"

namespace colonnade::images {
namespace {

using test::black_png;
using test::Picture;
using test::uniform;

Tensor tensor_of(const std::string& file, DType dtype, const Shape& shape, const ImageOptions& options = {},
                 const ImageLimits& limits = {}) {
  return image_tensor(std::as_bytes(std::span(file)), "x.png", {"image", dtype, shape, {}}, shape, options, limits);
}

Tensor tensor_of(const Picture& picture, DType dtype, const Shape& shape, const ImageOptions& options = {}) {
  return tensor_of(test::png_of(picture), dtype, shape, options);
}

std::vector<double> doubles(const Tensor& tensor) {
  const Tensor numbers = tensor.converted(DType::f64);
  return {numbers.values<double>().begin(), numbers.values<double>().end()};
}

TEST(ImageTensor, LayoutsAndNormalisation) {
  const Picture picture = uniform(2, 2, 255, 0, 51);
  ImageOptions options;
  options.mean = {0.5};
  options.std = {1, 2, 4};
  const std::vector<double> planes = doubles(tensor_of(picture, DType::f32, {1, 3, 2, 2}, options));
  EXPECT_NEAR(planes[0], 0.5, 1e-6);
  EXPECT_NEAR(planes[4], -0.25, 1e-6);
  EXPECT_NEAR(planes[8], -0.075, 1e-6);
  const std::vector<double> pixels = doubles(tensor_of(picture, DType::f32, {1, 2, 2, 3}, options));
  EXPECT_NEAR(pixels[0], 0.5, 1e-6);
  EXPECT_NEAR(pixels[1], -0.25, 1e-6);
  EXPECT_NEAR(pixels[2], -0.075, 1e-6);
}

TEST(ImageTensor, ColorsBytesAndBatches) {
  const Picture picture = uniform(2, 2, 10, 20, 30);
  ImageOptions options;
  options.color = "bgr";
  const Tensor bgr = tensor_of(picture, DType::u8, {2, 3, 1, 1}, options);
  EXPECT_EQ(doubles(bgr), (std::vector<double>{30, 20, 10, 30, 20, 10}));
  const Tensor gray = tensor_of(picture, DType::u8, {-1, 1, -1, -1});
  EXPECT_EQ(gray.shape(), (Shape{1, 1, 2, 2}));
  EXPECT_EQ(doubles(gray), (std::vector<double>{18, 18, 18, 18}));
  EXPECT_EQ(tensor_of(picture, DType::u8, {0, 3, 1, 1}).size(), 0);
}

/// Larger than what is converted at a time, in every layout: each element is its pixel.
TEST(ImageTensor, EveryPixelFindsItsPlace) {
  const Picture picture = test::checkered(97, 211);
  const auto width = static_cast<std::size_t>(picture.width), height = static_cast<std::size_t>(picture.height);
  ImageOptions options;
  options.scale = 1;
  for (const DType dtype : {DType::u8, DType::f16, DType::f64}) {
    const std::vector<double> last = doubles(tensor_of(picture, dtype, {-1, -1, -1, 3}, options));
    const std::vector<double> first = doubles(tensor_of(picture, dtype, {2, 3, -1, -1}, options));
    ASSERT_EQ(last.size(), picture.rgb.size());
    ASSERT_EQ(first.size(), 2 * picture.rgb.size());
    for (std::size_t i = 0; i < last.size(); ++i) {
      const std::size_t c = i % 3, pixel = i / 3, plane = width * height;
      ASSERT_EQ(last[i], picture.rgb[i]) << i;
      ASSERT_EQ(first[plane * c + pixel], picture.rgb[i]) << i;
      ASSERT_EQ(first[plane * (3 + c) + pixel], picture.rgb[i]) << i;
    }
  }
}

TEST(ImageTensor, RefusesInputsThatTakeNoImage) {
  const Picture picture = uniform(2, 2, 10, 20, 30);
  EXPECT_THROW(tensor_of(picture, DType::f32, {4}), Error);
  EXPECT_THROW(tensor_of(picture, DType::f32, {1, 7, 2, 2}), Error);
  EXPECT_THROW(tensor_of(picture, DType::f32, {1, 3, 0, 2}), Error);
  EXPECT_THROW(tensor_of(picture, DType::string, {1, 3, 2, 2}), Error);
  ImageOptions options;
  options.mean = {1, 2};
  EXPECT_THROW(tensor_of(picture, DType::f32, {1, 3, 2, 2}, options), Error);
}

TEST(ImageTensor, WhatTheImageMakesLargeHasALimit) {
  const std::string file = black_png(100, 50);
  const ImageLimits limits{.tensor_bytes = 4 * 3 * 100 * 50};
  EXPECT_NO_THROW(tensor_of(file, DType::f32, {-1, 3, -1, -1}, {}, limits));
  EXPECT_NO_THROW(tensor_of(file, DType::f32, {1, 3, 200, 200}, {}, limits));
  try {
    tensor_of(file, DType::f64, {-1, 3, -1, -1}, {}, limits);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "input 'image' of 100 x 50 pixels takes 120000 bytes, limit 60000");
  }
}

}  // namespace
}  // namespace colonnade::images
