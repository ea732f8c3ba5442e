// SPDX-License-Identifier: Apache-2.0
// What the formats share, and how each is read.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/error.hpp"
#include "image/image.hpp"

namespace colonnade::images {

/// A message about the image; callers put before it which one.
[[noreturn]] inline void broken(std::string_view what) { fail(ErrorCode::invalid_input, "{}", what); }

/// Refuses sizes that are empty, beyond the limit, or more than `bytes` can hold at `pixels_per_byte`.
void check_size(std::int64_t width, std::int64_t height, Bytes bytes, std::int64_t most_pixels,
                std::int64_t pixels_per_byte);
/// Refuses what takes more than `limit`.
void check_held(std::int64_t held_bytes, std::int64_t limit, std::string_view what);
/// A black image of a size that the bytes can hold.
Image canvas(std::int64_t width, std::int64_t height, Bytes bytes);

std::unique_ptr<Rows> open_png(Bytes bytes, const Limits& limits);
std::unique_ptr<Rows> open_jpeg(Bytes bytes, const Limits& limits);

Image decode_bmp(Bytes bytes);
Image decode_jpeg2000(Bytes bytes);
Image decode_pnm(Bytes bytes);
Image decode_tiff(Bytes bytes);
Image decode_webp(Bytes bytes);

inline constexpr std::int64_t kMostPixels = Limits{}.pixels;
inline constexpr std::int64_t kFarthestSeek = std::int64_t{1} << 40;  ///< sums of two of them do not overflow

/// Bytes in memory, read as a file.
struct MemoryFile {
  Bytes bytes;
  std::size_t at = 0;

  std::size_t read(void* to, std::size_t count) {
    const std::size_t taken = std::min(count, bytes.size() - at);
    if (taken > 0) std::memcpy(to, bytes.data() + at, taken);
    at += taken;
    return taken;
  }
  bool seek(std::int64_t position) {
    if (position < 0 || position > static_cast<std::int64_t>(bytes.size())) return false;
    at = static_cast<std::size_t>(position);
    return true;
  }
};

}  // namespace colonnade::images
