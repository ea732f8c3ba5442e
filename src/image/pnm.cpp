// SPDX-License-Identifier: Apache-2.0
// PNM: P1 to P6.
#include <fmt/core.h>

#include "image/formats.hpp"

namespace colonnade::images {
namespace {

class PnmReader {
 public:
  explicit PnmReader(Bytes bytes) : bytes_(bytes) {}

  /// The next number of the text, behind spaces and comments.
  std::int64_t number() {
    skip();
    std::int64_t value = -1;
    while (at_ < bytes_.size() && bytes_[at_] >= '0' && bytes_[at_] <= '9') {
      value = std::max<std::int64_t>(value, 0) * 10 + (bytes_[at_++] - '0');
      if (value > kMostPixels) broken("a number is too large");
    }
    if (value < 0) broken("expected a number");
    return value;
  }
  /// A digit of its own: the pixels of P1 need no spaces between them.
  std::int64_t digit() {
    skip();
    return byte() - '0';
  }
  std::int64_t byte() {
    if (at_ >= bytes_.size()) broken("it ends early");
    return bytes_[at_++];
  }

 private:
  void skip() {
    for (; at_ < bytes_.size(); ++at_) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else if (std::strchr(" \t\n\v\f\r", bytes_[at_]) == nullptr || bytes_[at_] == 0) {
        return;
      }
    }
  }

  Bytes bytes_;
  std::size_t at_ = 2;
};

}  // namespace

Image decode_pnm(Bytes bytes) {
  PnmReader reader(bytes);
  const char form = static_cast<char>(bytes[1]);
  const bool text = form <= '3', bitmap = form == '1' || form == '4', color = form == '3' || form == '6';
  const std::int64_t width = reader.number(), height = reader.number(), peak = bitmap ? 1 : reader.number();
  if (peak < 1 || peak > 65535) broken(fmt::format("its largest value is {}", peak));
  Image image = canvas(width, height, bytes);
  if (!text) reader.byte();
  std::int64_t packed = 0;
  const auto sample = [&](std::int64_t x) {
    if (form == '1') return 1 - reader.digit();
    if (form == '4') {
      if (x % 8 == 0) packed = reader.byte();
      return std::int64_t{1} - (packed >> (7 - x % 8) & 1);
    }
    if (text) return reader.number();
    const std::int64_t high = reader.byte();
    return peak < 256 ? high : high << 8 | reader.byte();
  };
  std::uint8_t* to = image.rgb.data();
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width * (color ? 3 : 1); ++x) {
      const std::int64_t value = std::clamp<std::int64_t>(sample(x), 0, peak);
      const auto level = static_cast<std::uint8_t>((value * 255 + peak / 2) / peak);
      for (int repeat = color ? 1 : 3; repeat > 0; --repeat) *to++ = level;
    }
  }
  return image;
}

}  // namespace colonnade::images
