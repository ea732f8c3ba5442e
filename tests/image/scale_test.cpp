// SPDX-License-Identifier: Apache-2.0
#include "frontends/image/scale.hpp"

#include <gtest/gtest.h>

#include "support/image_files.hpp"

namespace colonnade::images {
namespace {

using test::checkered;
using test::Picture;
using test::uniform;

std::vector<float> scaled(const Picture& picture, int width, int height) {
  std::vector<float> pixels;
  Scaler scaler({picture.width, picture.height}, {width, height},
                [&](std::span<const float> row) { pixels.insert(pixels.end(), row.begin(), row.end()); });
  const auto row_bytes = static_cast<std::size_t>(3 * picture.width);
  for (std::size_t at = 0; at < picture.rgb.size(); at += row_bytes) scaler.take({&picture.rgb[at], row_bytes});
  return pixels;
}

/// The same over images that lie in memory: first the widths of all rows, then the heights.
std::vector<float> scaled_whole(const Picture& picture, int width, int height) {
  const std::size_t row = 3 * static_cast<std::size_t>(width);
  std::vector<float> wide(row * static_cast<std::size_t>(picture.height)), out(row * static_cast<std::size_t>(height));
  for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x) {
    const Taps taps = taps_at(static_cast<std::int64_t>(x), picture.width, width);
    for (std::size_t y = 0; y < static_cast<std::size_t>(picture.height); ++y)
      for (std::size_t k = 0; k < taps.weights.size(); ++k)
        for (std::size_t c = 0; c < 3; ++c) {
          const std::size_t from =
              y * static_cast<std::size_t>(picture.width) + static_cast<std::size_t>(taps.first) + k;
          wide[y * row + 3 * x + c] += taps.weights[k] * static_cast<float>(picture.rgb[3 * from + c]);
        }
  }
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    const Taps taps = taps_at(static_cast<std::int64_t>(y), picture.height, height);
    for (std::size_t k = 0; k < taps.weights.size(); ++k)
      for (std::size_t i = 0; i < row; ++i)
        out[y * row + i] += taps.weights[k] * wide[(static_cast<std::size_t>(taps.first) + k) * row + i];
  }
  return out;
}

TEST(Scale, RowByRowGivesTheBitsOfTheWhole) {
  for (const auto& [width, height] : {std::pair{1, 1}, {7, 5}, {30, 20}, {64, 3}, {3, 64}})
    for (const auto& [to_width, to_height] : {std::pair{1, 1}, {7, 5}, {28, 28}, {31, 90}, {90, 31}}) {
      const Picture picture = checkered(width, height);
      EXPECT_EQ(scaled(picture, to_width, to_height), scaled_whole(picture, to_width, to_height))
          << width << 'x' << height << " to " << to_width << 'x' << to_height;
    }
}

TEST(Scale, NarrowAndHighImagesComeOutAsTheWholeWould) {
  const Picture picture = checkered(2, 5000);
  const std::vector<float> rows = scaled(picture, 224, 10), whole = scaled_whole(picture, 224, 10);
  ASSERT_EQ(rows.size(), whole.size());
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_NEAR(rows[i], whole[i], 2e-3) << i;
}

TEST(Scale, ToItsOwnSizeChangesNothing) {
  const Picture picture = checkered(6, 5);
  const std::vector<float> pixels = scaled(picture, 6, 5);
  ASSERT_EQ(pixels.size(), picture.rgb.size());
  for (std::size_t i = 0; i < pixels.size(); ++i) EXPECT_FLOAT_EQ(pixels[i], picture.rgb[i]);
}

TEST(Scale, KeepsUniformImages) {
  for (const auto& [width, height] : {std::pair{3, 2}, {40, 31}, {1, 1}}) {
    const std::vector<float> pixels = scaled(uniform(10, 11, 77, 77, 77), width, height);
    EXPECT_EQ(pixels.size(), static_cast<std::size_t>(3 * width * height));
    for (const float value : pixels) EXPECT_NEAR(value, 77, 1e-3);
  }
}

TEST(Scale, DoublingUsesHalfPixelCentres) {
  const std::vector<float> pixels = scaled({2, 1, {0, 0, 0, 100, 100, 100}}, 4, 1);
  const std::vector<float> expected{0, 25, 75, 100};
  ASSERT_EQ(pixels.size(), 12u);
  for (std::size_t x = 0; x < 4; ++x) EXPECT_NEAR(pixels[3 * x], expected[x], 1e-3);
}

TEST(Scale, HalvingAveragesEveryPixel) {
  const std::vector<float> pixels = scaled({4, 1, {0, 0, 0, 0, 0, 0, 80, 80, 80, 80, 80, 80}}, 2, 1);
  ASSERT_EQ(pixels.size(), 6u);
  EXPECT_NEAR(pixels[0] + pixels[3], 80, 1e-3);
  EXPECT_LT(pixels[0], pixels[3]);
}

}  // namespace
}  // namespace colonnade::images
