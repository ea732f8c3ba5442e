// SPDX-License-Identifier: Apache-2.0
// PNG and JPEG files as tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "colonnade/colonnade.hpp"

namespace colonnade::images {

/// 8-bit RGB pixels, rows from the top.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;
};

/// How pixels become elements: (pixel * scale - mean) / std, channel by channel.
struct ImageOptions {
  std::vector<double> mean;     ///< one value, or one a channel; empty: 0
  std::vector<double> std;      ///< one value, or one a channel; empty: 1
  double scale = -1;            ///< negative: 1/255 for floats, 1 for integers
  std::string layout = "auto";  ///< "auto", "nchw" or "nhwc"
  std::string color = "auto";   ///< "auto" (gray for one channel, else rgb), "rgb", "bgr" or "gray"
};

inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

/// Decodes by content, whatever the name says; an alpha channel is dropped. Throws Error{invalid_input} naming `where`,
/// for images of more than `most_pixels` before they take any memory.
Image decode_image(std::span<const std::byte> bytes, const std::string& where, std::int64_t most_pixels = kMostPixels);

/// Bilinear with half-pixel centres; when shrinking, the triangle widens so that every pixel counts (as Pillow does).
/// Result: [height][width][3] in 0..255.
std::vector<float> resize_bilinear(const Image& image, int width, int height);

/// The image as an input of type `info.dtype`: `shape` holds the wanted dimensions, where -1 takes the image's own
/// size (1 for the batch, 3 channels). A batch above one repeats the image. Throws Error{invalid_input} where the
/// shape is no image's, Error{invalid_argument} for options that do not fit it.
Tensor image_tensor(const Image& image, const TensorInfo& info, Shape shape, const ImageOptions& options);

}  // namespace colonnade::images
