// SPDX-License-Identifier: Apache-2.0
// How the work is cut into blocks of tiles, and the workspace that they need.
#pragma once

#include "kernels/byte_winograd/byte_winograd.hpp"

namespace colonnade::kernels::byte_winograd {

inline constexpr std::size_t kLine = 64;           // bytes
inline constexpr std::size_t kBlockChannels = 64;  // most outputs that are multiplied and transformed together
inline constexpr std::size_t kFewestTiles = 12, kMostTiles = 24;

constexpr std::size_t round_up(std::size_t a, std::size_t b) { return (a + b - 1) / b * b; }
constexpr std::size_t block_channels(std::size_t channels_out) {
  const std::size_t all = round_up(channels_out, kPanel);
  return all < kBlockChannels ? all : kBlockChannels;
}

/// Matrices in the workspace: rows of `stride` bytes, one a tile; matrices are `plane` apart, an odd number of lines,
/// so that a tile's values lie in different sets of a cache.
struct Planes {
  std::size_t stride;
  std::size_t plane;
};
constexpr Planes planes_of(std::size_t bytes, std::size_t tiles) {
  std::size_t lines = round_up(bytes, kLine) / kLine;
  if (lines % 64 == 0) ++lines;
  return {lines * kLine, (lines * tiles | 1) * kLine};
}

/// Tiles that pass together: what they take in the workspace stays in the second-level cache.
constexpr std::size_t block_tiles(std::size_t channels_in, std::size_t channels_out) {
  constexpr std::size_t kBudget = 384 * 1024, kEven = 6;
  const std::size_t tile =
      kMatrices * (sizeof(std::int16_t) * channels_in + sizeof(std::int32_t) * block_channels(channels_out));
  const std::size_t fitting = kBudget / tile / kEven * kEven;
  return fitting < kFewestTiles ? kFewestTiles : fitting < kMostTiles ? fitting : kMostTiles;
}

/// The workspace: pixels of a tile that lie partly outside, transformed inputs, their products, sums of parts.
struct Layout {
  std::size_t tiles;
  std::size_t pixel;  ///< bytes of a pixel of the copied tile
  Planes inputs;
  Planes products;
  std::size_t inputs_at;
  std::size_t products_at;
  std::size_t sums_at;
  std::size_t bytes;
};

constexpr Layout layout_of(std::size_t channels_in, std::size_t channels_out) {
  Layout layout{};
  layout.tiles = block_tiles(channels_in, channels_out);
  layout.pixel = round_up(channels_in, kLine);
  layout.inputs = planes_of(layout.pixel * sizeof(std::int16_t), layout.tiles);
  layout.products = planes_of(block_channels(channels_out) * sizeof(std::int32_t), layout.tiles);
  layout.inputs_at = kMatrices * layout.pixel;
  layout.products_at = layout.inputs_at + kMatrices * layout.inputs.plane;
  layout.sums_at = layout.products_at + kMatrices * layout.products.plane;
  const std::size_t sums = layout.tiles * kTile * kTile * kBlockChannels * sizeof(std::int32_t);
  layout.bytes = layout.sums_at + (most_parts(channels_in) > 1 ? sums : 0);
  return layout;
}

}  // namespace colonnade::kernels::byte_winograd
