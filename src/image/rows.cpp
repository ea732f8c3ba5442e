// SPDX-License-Identifier: Apache-2.0
#include "image/rows.hpp"

#include "image/formats.hpp"

namespace colonnade::images {

void check_size(std::int64_t width, std::int64_t height, Bytes bytes, std::int64_t most_pixels,
                std::int64_t pixels_per_byte) {
  if (width <= 0 || height <= 0) fail(ErrorCode::invalid_input, "{} x {} pixels are no image", width, height);
  if (width > most_pixels / height)
    fail(ErrorCode::invalid_input, "{} x {} pixels are more than the limit of {}", width, height, most_pixels);
  if (width * height / pixels_per_byte > static_cast<std::int64_t>(bytes.size()))
    fail(ErrorCode::invalid_input, "{} x {} pixels cannot be in {} bytes", width, height, bytes.size());
}

void check_held(std::int64_t held_bytes, std::int64_t limit, std::string_view what) {
  if (held_bytes > limit)
    fail(ErrorCode::invalid_input, "{} take {} bytes, more than the limit of {}", what, held_bytes, limit);
}

std::unique_ptr<Rows> open_rows(Bytes bytes, const Limits& limits) {
  const auto begins_with = [&](std::string_view signature) {
    return bytes.size() >= signature.size() && std::memcmp(bytes.data(), signature.data(), signature.size()) == 0;
  };
  if (begins_with("\x89PN")) return open_png(bytes, limits);
  if (begins_with("\xff\xd8")) return open_jpeg(bytes, limits);
  broken("neither PNG nor JPEG");
}

}  // namespace colonnade::images
