// SPDX-License-Identifier: Apache-2.0
// Image files of many formats as pixels in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "image/rows.hpp"

namespace colonnade::images {

/// 8-bit RGB pixels, rows from the top.
struct Image {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

/// BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP, by content; transparency is dropped. Throws Error{invalid_input}, for
/// sizes beyond 2^28 pixels or beyond what so few bytes can hold before they take any memory.
Image decode_image(Bytes bytes);

}  // namespace colonnade::images
