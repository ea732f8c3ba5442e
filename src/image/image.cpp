// SPDX-License-Identifier: Apache-2.0
#include "image/image.hpp"

#include "image/formats.hpp"

namespace colonnade::images {
namespace {

/// Only formats without rows pack more pixels than this into a byte.
constexpr std::int64_t kPixelsPerByte = std::int64_t{1} << 14;

Image all_rows(Bytes bytes) {
  const std::unique_ptr<Rows> rows = open_rows(bytes);
  Image image{rows->width(), rows->height(), {}};
  const auto row_bytes = static_cast<std::size_t>(3 * image.width);
  image.rgb.resize(row_bytes * static_cast<std::size_t>(image.height));
  for (std::size_t at = 0; at < image.rgb.size(); at += row_bytes) rows->read({&image.rgb[at], row_bytes});
  return image;
}

struct Format {
  std::string_view signature;
  std::size_t at;
  Image (*decode)(Bytes bytes);
};

constexpr std::string_view kJp2("\0\0\0\x0cjP  ", 8), kTiff("II*\0", 4), kBigEndianTiff("MM\0*", 4);

constexpr Format kFormats[] = {
    {"BM", 0, decode_bmp},
    {"\xff\xd8\xff", 0, all_rows},
    {"\x89PNG\r\n\x1a\n", 0, all_rows},
    {"WEBP", 8, decode_webp},
    {kTiff, 0, decode_tiff},
    {kBigEndianTiff, 0, decode_tiff},
    {kJp2, 0, decode_jpeg2000},
    {"\xff\x4f\xff\x51", 0, decode_jpeg2000},
    {"P1", 0, decode_pnm},
    {"P2", 0, decode_pnm},
    {"P3", 0, decode_pnm},
    {"P4", 0, decode_pnm},
    {"P5", 0, decode_pnm},
    {"P6", 0, decode_pnm},
};

}  // namespace

Image canvas(std::int64_t width, std::int64_t height, Bytes bytes) {
  check_size(width, height, bytes, kMostPixels, kPixelsPerByte);
  return {width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * width * height))};
}

Image decode_image(Bytes bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Format& format : kFormats) {
    const bool fits = text.size() >= format.at + format.signature.size();
    if (fits && text.substr(format.at, format.signature.size()) == format.signature) return format.decode(bytes);
  }
  broken("its format is not known");
}

}  // namespace colonnade::images
