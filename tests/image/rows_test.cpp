// SPDX-License-Identifier: Apache-2.0
// Image files row by row: what comes out, what is refused, and what they take.
#include "image/rows.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "colonnade/colonnade.hpp"
#include "image/image.hpp"
#include "support/image_files.hpp"

namespace colonnade::images {
namespace {

using test::black_png;
using test::checkered;
using test::jpeg_of;
using test::Picture;
using test::png_of;
using test::PngForm;

Bytes bytes_of(const std::string& file) { return {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}; }

void expect_refused(const std::string& file, const std::string& part, const Limits& limits = {}) {
  try {
    const auto rows = open_rows(bytes_of(file), limits);
    std::vector<std::uint8_t> row(static_cast<std::size_t>(3 * rows->width()));
    for (std::int64_t y = 0; y < rows->height(); ++y) rows->read(row);
    ADD_FAILURE() << "decoded, expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

/// What libpng's own reader of whole images makes of the file.
std::vector<std::uint8_t> pixels_by_libpng(const std::string& file) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_memory(&header, file.data(), file.size())) << header.message;
  header.format = PNG_FORMAT_RGBA;
  std::vector<std::uint8_t> rgba(PNG_IMAGE_SIZE(header)), rgb;
  EXPECT_TRUE(png_image_finish_read(&header, nullptr, rgba.data(), 0, nullptr)) << header.message;
  for (std::size_t i = 0; i < rgba.size(); ++i)
    if (i % 4 < 3) rgb.push_back(rgba[i]);
  return rgb;
}

std::string random_png(const PngForm& form) {
  std::uint32_t state = 1;
  const int channels[] = {1, 0, 3, 1, 2, 0, 4};
  std::vector<std::vector<std::uint8_t>> rows(static_cast<std::size_t>(form.height));
  for (auto& row : rows) {
    for (int bits = form.width * channels[form.color_type] * form.bit_depth; bits > 0; bits -= 8)
      row.push_back(static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24));
  }
  return test::png_file(form, [&](int y) { return rows[static_cast<std::size_t>(y)]; });
}

TEST(Rows, EveryFormOfPngIsReadAsLibpngReadsWholeImages) {
  int forms = 0;
  for (const int color : {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_PALETTE, PNG_COLOR_TYPE_GRAY_ALPHA,
                          PNG_COLOR_TYPE_RGB_ALPHA}) {
    const bool small = color == PNG_COLOR_TYPE_GRAY || color == PNG_COLOR_TYPE_PALETTE;
    for (const int depth : {1, 2, 4, 8, 16}) {
      if ((depth < 8 && !small) || (depth == 16 && color == PNG_COLOR_TYPE_PALETTE)) continue;
      for (const double gamma : {0.0, 0.45455, 1.0}) {
        for (int bits = 0; bits < 4; ++bits) {
          const bool transparent = (bits & 1) != 0, interlaced = (bits & 2) != 0;
          if (transparent && (color & PNG_COLOR_MASK_ALPHA) != 0) continue;
          const Image image =
              decode_image(bytes_of(random_png({13, 11, color, depth, interlaced, transparent, gamma})));
          EXPECT_EQ(image.width, 13);
          EXPECT_EQ(image.height, 11);
          // libpng 1.6.39 as patched by Debian mixes up interlaced pixels of 16 bits.
          EXPECT_EQ(image.rgb, pixels_by_libpng(random_png({13, 11, color, depth, false, transparent, gamma})))
              << color << ' ' << depth << ' ' << gamma << ' ' << bits;
          ++forms;
        }
      }
    }
  }
  EXPECT_EQ(forms, (5 + 4 + 2) * 12 + (2 + 2) * 6);
}

TEST(Rows, PngHoldsWhatWasWritten) {
  const Picture picture = checkered(13, 7);
  for (const bool interlaced : {false, true})
    EXPECT_EQ(decode_image(bytes_of(png_of(picture, interlaced))).rgb, picture.rgb);
}

TEST(Rows, JpegIsNearWhatWasWritten) {
  const Image image = decode_image(bytes_of(jpeg_of(test::uniform(16, 24, 200, 100, 50))));
  EXPECT_EQ(image.width, 16);
  EXPECT_EQ(image.height, 24);
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
    EXPECT_NEAR(image.rgb[i], 200, 6);
    EXPECT_NEAR(image.rgb[i + 1], 100, 6);
    EXPECT_NEAR(image.rgb[i + 2], 50, 6);
  }
}

TEST(Rows, ProgressiveJpegHoldsTheSamePixels) {
  const Picture picture = checkered(45, 29);
  EXPECT_EQ(decode_image(bytes_of(jpeg_of(picture, true))).rgb, decode_image(bytes_of(jpeg_of(picture))).rgb);
}

TEST(Rows, RefusesEveryTruncatedPng) {
  for (const bool interlaced : {false, true}) {
    const std::string file = png_of(checkered(9, 5), interlaced);
    const std::size_t without_end_chunk = file.size() - 12;
    for (std::size_t length = 0; length < without_end_chunk; ++length)
      EXPECT_THROW(decode_image(bytes_of(file.substr(0, length))), Error) << length;
  }
}

TEST(Rows, SurvivesTruncatedAndChangedFiles) {
  for (const std::string& file : {png_of(checkered(9, 5)), png_of(checkered(9, 5), true), jpeg_of(checkered(16, 8)),
                                  jpeg_of(checkered(16, 8), true)})
    for (std::size_t i = 0; i < file.size(); ++i) {
      std::string changed = file;
      changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ 0xa5);
      for (const std::string& hostile : {changed, file.substr(0, i)}) try {
          const Image image = decode_image(bytes_of(hostile));
          EXPECT_EQ(image.rgb.size(), static_cast<std::size_t>(3 * image.width * image.height));
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::invalid_input);
        }
    }
}

TEST(Rows, RefusesWhatIsNoImage) {
  for (const char* text : {"", "P", "hello, world", "\x89PNG", "\xff\xd8\xff"}) expect_refused(text, "");
}

TEST(Rows, RefusesMorePixelsThanTheLimit) {
  expect_refused(black_png(1000, 11), "1000 x 11 pixels are more than the limit of 10999", {.pixels = 10999});
  expect_refused(jpeg_of(checkered(40, 30)), "40 x 30 pixels are more than the limit of 1199", {.pixels = 1199});
  EXPECT_NO_THROW(open_rows(bytes_of(black_png(1000, 11)), {.pixels = 11000}));
}

TEST(Rows, RefusesMorePixelsThanTheBytesCanHold) {
  const std::string png = png_of(checkered(9, 5));
  expect_refused(test::with_size(png, 100000, 2000), fmt::format("cannot be in {} bytes", png.size()));
  std::string jpeg = jpeg_of(checkered(16, 8));
  const std::size_t frame = jpeg.find("\xff\xc0");
  for (std::size_t i = 5; i < 9; ++i) jpeg[frame + i] = '\x3f';
  expect_refused(jpeg, fmt::format("16191 x 16191 pixels cannot be in {} bytes", jpeg.size()));
}

TEST(Rows, WhatIsHeldWholeHasALimitOfItsOwn) {
  const Limits limits{.held_bytes = 3 * 80 * 64 - 1};
  const Picture picture = checkered(80, 64);
  expect_refused(png_of(picture, true), "its interlaced pixels take 15360 bytes, more than the limit of 15359", limits);
  expect_refused(jpeg_of(picture, true), "the coefficients of its scans take", limits);
  EXPECT_NO_THROW(open_rows(bytes_of(png_of(picture)), limits));
  EXPECT_NO_THROW(open_rows(bytes_of(jpeg_of(picture)), limits));
}

TEST(Rows, RefusesScansWithoutEnd) {
  const std::string jpeg = jpeg_of(checkered(45, 29), true);
  EXPECT_EQ(decode_image(bytes_of(test::with_scans(jpeg, 1))).rgb, decode_image(bytes_of(jpeg)).rgb);
  expect_refused(test::with_scans(jpeg, 200), "more than 100 scans");
}

}  // namespace
}  // namespace colonnade::images
