// SPDX-License-Identifier: Apache-2.0
#include "frontends/image/image.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "frontends/cli/numbers.hpp"
#include "pictures.hpp"

namespace colonnade::cli {
namespace {

using namespace images;  // NOLINT

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Image checkered(int width, int height) {
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) image.rgb.push_back(static_cast<std::uint8_t>((37 * x + 91 * y + 50 * c) % 256));
  return image;
}

Image uniform(int width, int height, std::uint8_t r, std::uint8_t g, std::uint8_t b) {
  Image image{width, height, {}};
  for (int i = 0; i < width * height; ++i) image.rgb.insert(image.rgb.end(), {r, g, b});
  return image;
}

TensorInfo input_of(DType dtype, const Shape& shape) { return {"image", dtype, shape, {}}; }

TEST(Image, DecodesPng) {
  const Image image = checkered(13, 7);
  const Image read = decode_image(bytes_of(test::png_of(image)), "x.png");
  EXPECT_EQ(read.width, 13);
  EXPECT_EQ(read.height, 7);
  EXPECT_EQ(read.rgb, image.rgb);
}

TEST(Image, DecodesJpegNearly) {
  const Image read = decode_image(bytes_of(test::jpeg_of(uniform(16, 24, 200, 100, 50))), "x.jpg");
  EXPECT_EQ(read.width, 16);
  EXPECT_EQ(read.height, 24);
  EXPECT_NEAR(read.rgb[0], 200, 6);
  EXPECT_NEAR(read.rgb[1], 100, 6);
  EXPECT_NEAR(read.rgb[2], 50, 6);
}

TEST(Image, RefusesEveryTruncatedPng) {
  const std::string file = test::png_of(checkered(9, 5));
  const std::size_t without_end_chunk = file.size() - 12;
  for (std::size_t length = 0; length < without_end_chunk; ++length)
    EXPECT_THROW(decode_image(bytes_of(file.substr(0, length)), "x.png"), Error) << length;
}

TEST(Image, SurvivesTruncatedAndChangedFiles) {
  for (const std::string& file : {test::png_of(checkered(9, 5)), test::jpeg_of(checkered(16, 8))})
    for (std::size_t i = 0; i < file.size(); ++i) {
      std::string changed = file;
      changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ 0xa5);
      for (const std::string& hostile : {changed, file.substr(0, i)}) try {
          const Image image = decode_image(bytes_of(hostile), "x");
          EXPECT_EQ(image.rgb.size(), static_cast<std::size_t>(3 * image.width * image.height));
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::invalid_input);
        }
    }
}

TEST(Image, RefusesWhatIsNoImage) {
  for (const char* text : {"", "P", "hello, world", "\x89PNG", "\xff\xd8\xff"})
    EXPECT_THROW(decode_image(bytes_of(std::string(text)), "x"), Error) << text;
}

TEST(Image, ResizingToItsOwnSizeChangesNothing) {
  const Image image = checkered(6, 5);
  const std::vector<float> pixels = resize_bilinear(image, 6, 5);
  for (std::size_t i = 0; i < pixels.size(); ++i) EXPECT_FLOAT_EQ(pixels[i], image.rgb[i]);
}

TEST(Image, ResizingKeepsUniformImages) {
  for (const auto& [width, height] : {std::pair{3, 2}, {40, 31}, {1, 1}})
    for (const float value : resize_bilinear(uniform(10, 11, 77, 77, 77), width, height)) EXPECT_NEAR(value, 77, 1e-3);
}

TEST(Image, DoublingUsesHalfPixelCentres) {
  Image image{2, 1, {0, 0, 0, 100, 100, 100}};
  const std::vector<float> pixels = resize_bilinear(image, 4, 1);
  const std::vector<float> expected{0, 25, 75, 100};
  for (std::size_t x = 0; x < 4; ++x) EXPECT_NEAR(pixels[3 * x], expected[x], 1e-3);
}

TEST(Image, HalvingAveragesEveryPixel) {
  Image image{4, 1, {0, 0, 0, 0, 0, 0, 80, 80, 80, 80, 80, 80}};
  const std::vector<float> pixels = resize_bilinear(image, 2, 1);
  EXPECT_NEAR(pixels[0] + pixels[3], 80, 1e-3);
  EXPECT_LT(pixels[0], pixels[3]);
}

TEST(Image, LayoutsAndNormalisation) {
  const Image image = uniform(2, 2, 255, 0, 51);
  ImageOptions options;
  options.mean = {0.5};
  options.std = {1, 2, 4};
  const std::vector<double> planes =
      to_doubles(image_tensor(image, input_of(DType::f32, {1, 3, 2, 2}), {1, 3, 2, 2}, options));
  EXPECT_NEAR(planes[0], 0.5, 1e-6);
  EXPECT_NEAR(planes[4], -0.25, 1e-6);
  EXPECT_NEAR(planes[8], -0.075, 1e-6);
  const std::vector<double> pixels =
      to_doubles(image_tensor(image, input_of(DType::f32, {1, 2, 2, 3}), {1, 2, 2, 3}, options));
  EXPECT_NEAR(pixels[0], 0.5, 1e-6);
  EXPECT_NEAR(pixels[1], -0.25, 1e-6);
  EXPECT_NEAR(pixels[2], -0.075, 1e-6);
}

TEST(Image, ColorsBytesAndBatches) {
  const Image image = uniform(2, 2, 10, 20, 30);
  ImageOptions options;
  options.color = "bgr";
  const Tensor bgr = image_tensor(image, input_of(DType::u8, {2, 3, 1, 1}), {2, 3, 1, 1}, options);
  EXPECT_EQ(to_doubles(bgr), (std::vector<double>{30, 20, 10, 30, 20, 10}));
  const Tensor gray = image_tensor(image, input_of(DType::u8, {-1, 1, -1, -1}), {-1, 1, -1, -1}, {});
  EXPECT_EQ(gray.shape(), (Shape{1, 1, 2, 2}));
  EXPECT_EQ(to_doubles(gray), (std::vector<double>{18, 18, 18, 18}));
}

TEST(Image, RefusesInputsThatTakeNoImage) {
  const Image image = uniform(2, 2, 10, 20, 30);
  EXPECT_THROW(image_tensor(image, input_of(DType::f32, {4}), {4}, {}), Error);
  EXPECT_THROW(image_tensor(image, input_of(DType::f32, {1, 7, 2, 2}), {1, 7, 2, 2}, {}), Error);
  EXPECT_THROW(image_tensor(image, input_of(DType::f32, {1, 3, 0, 2}), {1, 3, 0, 2}, {}), Error);
  ImageOptions options;
  options.mean = {1, 2};
  EXPECT_THROW(image_tensor(image, input_of(DType::f32, {1, 3, 2, 2}), {1, 3, 2, 2}, options), Error);
}

TEST(Numbers, HalfPrecisionRoundTripsEveryFiniteValue) {
  Tensor all(DType::f16, {0x10000});
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    all.values<std::uint16_t>()[bits] = static_cast<std::uint16_t>(bits);
  const std::vector<double> values = to_doubles(all);
  const Tensor back = from_doubles(DType::f16, all.shape(), values);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    EXPECT_TRUE(std::isnan(values[bits]) || back.values<std::uint16_t>()[bits] == bits) << bits;
  const Tensor rounded = from_doubles(DType::f16, {4}, {65520, 65519, 1 + 0x1p-11, 1 + 3 * 0x1p-11});
  const std::vector<std::uint16_t> expected = {0x7c00, 0x7bff, 0x3c00, 0x3c02};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), rounded.values<std::uint16_t>().begin()));
}

TEST(Numbers, NarrowIntegersClampAndComplexNumbersAreMagnitudes) {
  const std::vector<double> values = {-100, -1.5, 0.4, 6.6, 100};
  EXPECT_EQ(to_doubles(from_doubles(DType::i4, {5}, values)), (std::vector<double>{-8, -2, 0, 7, 7}));
  EXPECT_EQ(to_doubles(from_doubles(DType::u2, {5}, values)), (std::vector<double>{0, 0, 0, 3, 3}));
  EXPECT_EQ(to_doubles(from_doubles(DType::f8e4m3fn, {5}, values)), (std::vector<double>{-96, -1.5, 0.40625, 6.5, 96}));
  EXPECT_EQ(to_doubles(from_doubles(DType::c64, {2}, {-3, 4})), (std::vector<double>{3, 4}));
}

}  // namespace
}  // namespace colonnade::cli
