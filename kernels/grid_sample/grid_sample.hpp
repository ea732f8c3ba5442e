// SPDX-License-Identifier: Apache-2.0
// Samples a channels-last image at given positions: nearest, bilinear, bicubic.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::grid_sample {

enum class Mode : unsigned char { nearest, linear, cubic };
enum class Padding : unsigned char { zeros, border, reflection };

/// out[p][c] = image sampled at grid[p] = (x, y) in [-1, 1], as ONNX's GridSample. Dense image
/// [height][width][channels] and dense out. Sums run over the rows of taps, then the taps of a row.
struct Args {
  Mode mode = Mode::linear;
  Padding padding = Padding::zeros;
  bool align_corners = false;
  std::size_t positions = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;
  const float* image = nullptr;
  const float* grid = nullptr;
  float* out = nullptr;
};

struct Kernel {
  const char* name;
  Isa isa;
  void (*run)(const Args&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Isa isa) noexcept;

}  // namespace colonnade::kernels::grid_sample
