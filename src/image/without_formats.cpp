// SPDX-License-Identifier: Apache-2.0
// What stands for the formats of other libraries in a build without them (-DCOLONNADE_IMAGES=OFF).
#include "image/formats.hpp"

namespace colonnade::images {
namespace {

[[noreturn]] void absent(std::string_view format) {
  fail(ErrorCode::unsupported, "{} images: this build reads none (COLONNADE_IMAGES)", format);
}

}  // namespace

std::unique_ptr<Rows> open_png(Bytes, const Limits&) { absent("PNG"); }
std::unique_ptr<Rows> open_jpeg(Bytes, const Limits&) { absent("JPEG"); }
Image decode_jpeg2000(Bytes) { absent("JPEG 2000"); }
Image decode_tiff(Bytes) { absent("TIFF"); }
Image decode_webp(Bytes) { absent("WebP"); }

}  // namespace colonnade::images
