// SPDX-License-Identifier: Apache-2.0
#include <webp/decode.h>

#include "image/formats.hpp"

namespace colonnade::images {

Image decode_webp(Bytes bytes) {
  int width = 0, height = 0;
  if (WebPGetInfo(bytes.data(), bytes.size(), &width, &height) == 0) broken("it is no WebP image");
  Image image = canvas(width, height, bytes);
  if (WebPDecodeRGBInto(bytes.data(), bytes.size(), image.rgb.data(), image.rgb.size(), 3 * width) == nullptr) {
    broken("its WebP data are damaged");
  }
  return image;
}

}  // namespace colonnade::images
