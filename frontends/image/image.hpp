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

/// How pixels become elements: (pixel * scale - mean) / std, channel by channel.
struct ImageOptions {
  std::vector<double> mean;     ///< one value, or one a channel; empty: 0
  std::vector<double> std;      ///< one value, or one a channel; empty: 1
  double scale = -1;            ///< negative: 1/255 for floats, 1 for integers
  std::string layout = "auto";  ///< "auto", "nchw" or "nhwc"
  std::string color = "auto";   ///< "auto" (gray for one channel, else rgb), "rgb", "bgr" or "gray"
};

/// What one file may take.
struct ImageLimits {
  std::int64_t pixels = std::int64_t{1} << 28;        ///< decoded
  std::int64_t held_bytes = std::int64_t{1} << 30;    ///< of interlaced and progressive files, which are held whole
  std::int64_t tensor_bytes = std::int64_t{1} << 33;  ///< where the image's own size is the tensor's
};

/// A PNG or JPEG file, told by its content and scaled (bilinear), as an input of type `info.dtype`. `shape` holds the
/// wanted dimensions, where -1 takes the image's own size (1 for the batch, 3 channels). A batch above one repeats the
/// image; transparency is dropped. Rows are scaled as they are decoded: apart from the tensor, only a few of them are
/// held. Throws Error{invalid_input} naming `where` for unusable files and those beyond the limits, before they take
/// any memory, and where the shape is no image's; Error{invalid_argument} for options that do not fit it.
Tensor image_tensor(std::span<const std::byte> bytes, const std::string& where, const TensorInfo& info, Shape shape,
                    const ImageOptions& options = {}, const ImageLimits& limits = {});

}  // namespace colonnade::images
