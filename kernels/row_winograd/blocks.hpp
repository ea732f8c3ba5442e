// SPDX-License-Identifier: Apache-2.0
// How the work is cut into blocks of tiles, and the workspace that they need.
#pragma once

#include "kernels/row_winograd/row_winograd.hpp"
#include "kernels/winograd/blocks.hpp"

namespace colonnade::kernels::row_winograd {

inline constexpr std::size_t kFewestTiles = 48;
inline constexpr std::size_t kMostTiles = 96;

/// Tiles that pass together: their inputs and the sums of a block of channels stay in the second-level cache. As many
/// for some of the output channels as for all.
constexpr std::size_t block_tiles(Tile tile, std::size_t terms) {
  constexpr std::size_t kBudgetFloats = 384 * 1024 / sizeof(float);
  const std::size_t fitting = kBudgetFloats / (tile.inputs() * (terms + winograd::kBlockFloats)) / 12 * 12;
  return fitting > kMostTiles ? kMostTiles : fitting < kFewestTiles ? kFewestTiles : fitting;
}

/// The workspace: a pixel of zeros, the transformed inputs, the products of a block.
struct Layout {
  std::size_t tiles;
  winograd::Planes inputs;
  winograd::Planes sums;
  std::size_t inputs_at;
  std::size_t sums_at;
  std::size_t floats;
};

constexpr Layout layout_of(Tile tile, const Filter& filter, std::size_t channels_in, std::size_t channels_out) {
  const std::size_t terms = filter.terms(tile, channels_in), tiles = block_tiles(tile, terms);
  const winograd::Planes inputs = winograd::planes_of(terms, tiles);
  const winograd::Planes sums =
      winograd::planes_of(channels_out < winograd::kBlockFloats ? channels_out : winograd::kBlockFloats, tiles);
  const std::size_t inputs_at = winograd::round_to_lines(channels_in);
  const std::size_t sums_at = inputs_at + tile.inputs() * inputs.plane;
  return {tiles, inputs, sums, inputs_at, sums_at, sums_at + tile.inputs() * sums.plane};
}

}  // namespace colonnade::kernels::row_winograd
