// SPDX-License-Identifier: Apache-2.0
// BMP: uncompressed, 1 to 8 bits with a palette or 24 or 32 bits.
#include <cstdlib>

#include "image/formats.hpp"

namespace colonnade::images {
namespace {

std::uint32_t little_endian(Bytes bytes, std::size_t at, std::size_t count) {
  if (at + count > bytes.size()) broken("it ends early");
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= static_cast<std::uint32_t>(bytes[at + i]) << (8 * i);
  return value;
}

}  // namespace

Image decode_bmp(Bytes bytes) {
  const std::size_t data = little_endian(bytes, 10, 4), header = little_endian(bytes, 14, 4);
  const auto width = static_cast<std::int32_t>(little_endian(bytes, 18, 4));
  const auto height = static_cast<std::int32_t>(little_endian(bytes, 22, 4));
  const std::uint32_t bits = little_endian(bytes, 28, 2), compression = little_endian(bytes, 30, 4);
  const bool indexed = bits == 1 || bits == 4 || bits == 8;
  const bool plain = compression == 0 || (compression == 3 && bits == 32);
  if (header < 40 || !plain || (!indexed && bits != 24 && bits != 32)) broken("its form of BMP is not supported");
  Image image = canvas(width, std::abs(static_cast<std::int64_t>(height)), bytes);
  const auto row_bytes = (static_cast<std::size_t>(width) * bits + 31) / 32 * 4;
  std::uint8_t* to = image.rgb.data();
  for (std::int64_t y = 0; y < image.height; ++y) {
    const auto row = static_cast<std::size_t>(height < 0 ? y : image.height - 1 - y);
    const std::size_t from = data + row * row_bytes;
    if (from + row_bytes > bytes.size()) broken("it ends early");
    for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x) {
      std::size_t at = from + x * (bits / 8);
      if (indexed) {
        const std::size_t first_bit = x * bits;
        const auto shift = 8 - bits - first_bit % 8;
        const std::size_t index = bytes[from + first_bit / 8] >> shift & ((1U << bits) - 1);
        at = 14 + header + 4 * index;
      }
      const std::uint32_t bgr = little_endian(bytes, at, 3);
      for (const int shift : {16, 8, 0}) *to++ = static_cast<std::uint8_t>(bgr >> shift);
    }
  }
  return image;
}

}  // namespace colonnade::images
