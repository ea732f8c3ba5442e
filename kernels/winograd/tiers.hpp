// SPDX-License-Identifier: Apache-2.0
// The entry point of each ISA file, and how they cut the work.
#pragma once

#include "kernels/winograd/winograd.hpp"

namespace colonnade::kernels::winograd {

void convolve_baseline(const Args& args) noexcept;
void convolve_avx2(const Args& args) noexcept;
void convolve_avx512(const Args& args) noexcept;

inline constexpr std::size_t kMatrices = kInputTile * kInputTile;

/// Transformed tiles in the workspace: `tiles` rows of `stride` floats for each of the 36 matrices, `plane` apart. The
/// odd number of cache lines from one matrix to the next keeps the 36 stores of a tile in different cache sets.
struct Planes {
  std::size_t stride;
  std::size_t plane;
};

constexpr Planes planes_of(std::size_t channels, std::size_t tiles) {
  constexpr std::size_t kLine = 16;
  std::size_t lines = (channels + kLine - 1) / kLine;
  if (lines % 64 == 0) ++lines;
  return {lines * kLine, (lines * tiles | 1) * kLine};
}

/// Tiles that pass together, so that their transformed inputs and outputs stay in the second-level cache.
constexpr std::size_t block_tiles(std::size_t channels_in, std::size_t channels_out) {
  constexpr std::size_t kBudgetFloats = 384 * 1024 / sizeof(float);
  const std::size_t fitting = kBudgetFloats / (kMatrices * (channels_in + channels_out));
  return fitting >= 24 ? 24 : fitting >= 18 ? 18 : 12;
}

}  // namespace colonnade::kernels::winograd
