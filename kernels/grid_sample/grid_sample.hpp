// SPDX-License-Identifier: Apache-2.0
// Samples a channels-last image or volume at given positions: nearest, linear, cubic.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::grid_sample {

enum class Mode : unsigned char { nearest, linear, cubic };
enum class Padding : unsigned char { zeros, border, reflection };

/// out[p][c] = image sampled at grid[p] = (x, y) in [-1, 1], or (x, y, z) of a volume, as ONNX's GridSample. Element c
/// of pixel i of the image lies at image[i * pixel_stride + c * channel_stride]; out is dense. Sums run over the rows
/// of taps, then the taps of a row. Fast where channel_stride is 1.
struct Args {
  Mode mode = Mode::linear;
  Padding padding = Padding::zeros;
  bool align_corners = false;
  std::size_t positions = 0;
  std::size_t depth = 0;  ///< planes of a volume; 0: an image
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;
  const float* image = nullptr;
  std::ptrdiff_t pixel_stride = 0;
  std::ptrdiff_t channel_stride = 1;
  const float* grid = nullptr;
  float* out = nullptr;
};

struct Kernel {
  const char* name;
  Isa isa;
  void (*run)(const Args&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::grid_sample
