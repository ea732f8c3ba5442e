// SPDX-License-Identifier: Apache-2.0
// How a convolution on matrix units is cut: what its workspace holds at a time.
#pragma once

#include <cstddef>

#include "kernels/gemm/gemm.hpp"

namespace colonnade::kernels::gemm {

// Tiles of sums that are multiplied together, over at most so many panels.
inline constexpr std::size_t kMostGroup = 4, kMostPanelGroup = 2;
inline constexpr std::size_t kMostSteps = 16, kMostTiles = 64, kMostPieces = 128, kMostPanels = 32;

/// Pieces of `steps` steps of `tiles` tiles of pixels, and of the panels that are multiplied by them. Sums that take
/// several blocks of steps are kept, of at most `panels` panels.
struct Blocks {
  std::size_t all_steps;
  std::size_t steps;
  std::size_t tiles;
  std::size_t panels;
};

constexpr Blocks blocks_of(std::size_t k, std::size_t channels_out) {
  const std::size_t all_steps = (k + kPiecesStep - 1) / kPiecesStep, panels = (channels_out + kPanel - 1) / kPanel;
  const std::size_t blocks = (all_steps + kMostSteps - 1) / kMostSteps;
  const std::size_t steps = (all_steps + blocks - 1) / blocks, fitting = kMostPieces / steps;
  return {all_steps, steps, fitting < kMostTiles ? fitting : kMostTiles,
          blocks > 1 && panels > kMostPanels ? kMostPanels : panels};
}

/// What the workspace has room for: enough for any smaller k and channels_out too. Of pieces twice.
struct Room {
  std::size_t pixel_steps;
  std::size_t sums;
  std::size_t gathered_steps;
};

constexpr Room room_of(std::size_t k, std::size_t channels_out) {
  const Blocks blocks = blocks_of(k, channels_out);
  const std::size_t steps = blocks.all_steps < kMostSteps ? blocks.all_steps : kMostSteps;
  const std::size_t pixel_steps = steps * kMostTiles < kMostPieces ? steps * kMostTiles : kMostPieces;
  constexpr std::size_t kFewestSteps = kMostSteps / 2 + 1;  // of a block beside others
  const bool kept = blocks.all_steps > kMostSteps;
  return {pixel_steps, kept ? kMostPieces / kFewestSteps * blocks.panels : kMostGroup, steps};
}

}  // namespace colonnade::kernels::gemm
