// SPDX-License-Identifier: Apache-2.0
// Image files made by libpng and libjpeg, in all their forms, and files that promise more than they hold.
#pragma once

#include <cstdio>  // jpeglib.h needs FILE declared first
//
#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colonnade::test {

/// 8-bit RGB pixels, rows from the top.
struct Picture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

inline Picture checkered(int width, int height) {
  Picture picture{width, height, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) picture.rgb.push_back(static_cast<std::uint8_t>((37 * x + 91 * y + 50 * c) % 256));
  return picture;
}

inline Picture uniform(int width, int height, std::uint8_t r, std::uint8_t g, std::uint8_t b) {
  Picture picture{width, height, {}};
  for (int i = 0; i < width * height; ++i)
    for (const std::uint8_t value : {r, g, b}) picture.rgb.push_back(value);
  return picture;
}

struct PngForm {
  int width = 0, height = 0;
  int color_type = PNG_COLOR_TYPE_RGB;
  int bit_depth = 8;
  bool interlaced = false;
  bool transparent = false;  ///< one colour, or one of the palette's
  double gamma = 0;          ///< of a gAMA chunk; 0: none
};

/// `row(y)` gives the bytes of a row as the form packs them.
template <class Row>
std::string png_file(const PngForm& form, const Row& row) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto append = [](png_structp to, png_bytep bytes, png_size_t count) {
    static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<char*>(bytes), count);
  };
  png_set_write_fn(png, &file, append, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(form.width), static_cast<png_uint_32>(form.height), form.bit_depth,
               form.color_type, form.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (form.gamma > 0) png_set_gAMA(png, info, form.gamma);
  if (form.color_type == PNG_COLOR_TYPE_PALETTE) {
    std::vector<png_color> palette;
    for (int i = 0; i < 1 << form.bit_depth; ++i)
      palette.push_back({static_cast<png_byte>(83 * i), static_cast<png_byte>(255 - i), static_cast<png_byte>(7 * i)});
    png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  }
  if (form.transparent) {
    std::array<png_byte, 2> alphas = {0, 128};
    const png_color_16 color{1, 1, 1, 1, 1};
    png_set_tRNS(png, info, alphas.data(), static_cast<int>(alphas.size()), &color);
  }
  png_write_info(png, info);
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = 0; y < form.height; ++y) {
      const std::vector<std::uint8_t> bytes = row(y);
      png_write_row(png, bytes.data());
    }
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

inline std::string png_of(const Picture& picture, bool interlaced = false) {
  const auto row_bytes = 3 * static_cast<std::ptrdiff_t>(picture.width);
  const PngForm form{.width = picture.width, .height = picture.height, .interlaced = interlaced};
  return png_file(form, [&](int y) {
    return std::vector<std::uint8_t>(picture.rgb.begin() + row_bytes * y, picture.rgb.begin() + row_bytes * (y + 1));
  });
}

/// A black image in as few bytes as PNG takes for it: a bit a pixel.
inline std::string black_png(int width, int height, bool interlaced = false) {
  const PngForm form{
      .width = width, .height = height, .color_type = PNG_COLOR_TYPE_GRAY, .bit_depth = 1, .interlaced = interlaced};
  const std::vector<std::uint8_t> row(static_cast<std::size_t>(width + 7) / 8);
  return png_file(form, [&](int) { return row; });
}

/// A PNG file whose chunks were changed, with checksums that fit them again.
inline std::string with_checksums(std::string png) {
  constexpr std::size_t kSignature = 8, kAround = 12;  // length, type and checksum
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(png[at])); };
  for (std::size_t at = kSignature; at + kAround <= png.size();) {
    const std::size_t length = byte(at) << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3);
    if (length > png.size() - at - kAround) break;
    const auto* chunk = reinterpret_cast<const Bytef*>(&png[at + 4]);
    const auto sum = static_cast<std::uint32_t>(crc32(0, chunk, static_cast<uInt>(length + 4)));
    for (std::size_t i = 0; i < 4; ++i) png[at + 8 + length + i] = static_cast<char>(sum >> (24 - 8 * i) & 0xff);
    at += length + kAround;
  }
  return png;
}

/// The PNG file with another size in its header.
inline std::string with_size(std::string png, std::uint32_t width, std::uint32_t height) {
  for (std::size_t i = 0; i < 4; ++i) {
    png[16 + i] = static_cast<char>(width >> (24 - 8 * i) & 0xff);
    png[20 + i] = static_cast<char>(height >> (24 - 8 * i) & 0xff);
  }
  return with_checksums(std::move(png));
}

inline std::string jpeg_of(const Picture& picture, bool progressive = false) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = static_cast<JDIMENSION>(picture.width);
  info.image_height = static_cast<JDIMENSION>(picture.height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(picture.rgb.data()) + std::size_t{3} * info.image_width * info.next_scanline;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<char*>(buffer), size);
  std::free(buffer);
  return file;
}

/// The progressive JPEG file with its last scan so many times.
inline std::string with_scans(const std::string& jpeg, int count) {
  constexpr std::string_view kStartOfScan = "\xff\xda";
  const std::size_t scan = jpeg.rfind(kStartOfScan), end = jpeg.size() - 2;
  std::string file = jpeg.substr(0, scan);
  for (int i = 0; i < count; ++i) file += jpeg.substr(scan, end - scan);
  return file + jpeg.substr(end);
}

}  // namespace colonnade::test
