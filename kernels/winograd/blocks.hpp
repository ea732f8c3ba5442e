// SPDX-License-Identifier: Apache-2.0
// How the work is cut into blocks of tiles, and the workspace that they need.
#pragma once

#include "kernels/gemm/gemm.hpp"
#include "kernels/winograd/winograd.hpp"

namespace colonnade::kernels::winograd {

inline constexpr std::size_t kLine = 16;         // floats of a cache line
inline constexpr std::size_t kBlockFloats = 64;  // most output channels that are multiplied and transformed together
inline constexpr std::size_t kFewestTiles = 12;
inline constexpr std::size_t kMostTiles = 24;
inline constexpr std::size_t kFarTiles = 60;
inline constexpr std::size_t kPiecesTiles = 32;  // two registers' rows

constexpr std::size_t round_to_lines(std::size_t channels) { return (channels + kLine - 1) / kLine * kLine; }

/// Transformed tiles in the workspace: `tiles` rows of `stride` floats for each matrix, `plane` apart. The odd number
/// of cache lines from one matrix to the next keeps the stores of a tile in different cache sets.
struct Planes {
  std::size_t stride;
  std::size_t plane;
};

constexpr Planes planes_of(std::size_t channels, std::size_t tiles) {
  std::size_t lines = round_to_lines(channels) / kLine;
  if (lines % 64 == 0) ++lines;
  return {lines * kLine, (lines * tiles | 1) * kLine};
}

/// Tiles that pass together: what they take in the workspace stays in the second-level cache. The more, the less often
/// the weights pass: weights that come from further away pass for more tiles than the cache holds.
constexpr std::size_t block_tiles(Encoding encoding, Tile tile, std::size_t channels_in, std::size_t channels_out,
                                  bool far_weights) {
  constexpr std::size_t kBudgetFloats = 768 * 1024 / sizeof(float);
  const std::size_t out = channels_out < kBlockFloats ? channels_out : kBlockFloats;
  const std::size_t fitting = kBudgetFloats / (tile.matrices() * (channels_in + out));
  if (far_weights) return kFarTiles;
  if (encoding == Encoding::bf16x3) return kPiecesTiles;
  return fitting > kMostTiles ? kMostTiles : fitting < kFewestTiles ? kFewestTiles : fitting;
}

/// The workspace: an input tile whose pixels lie partly outside, the transformed inputs, the products of a block.
struct Layout {
  std::size_t tiles;
  Planes inputs;
  Planes sums;
  std::size_t matrices;

  std::size_t inputs_at;
  std::size_t sums_at;
  std::size_t pieces_at;
  std::size_t pieces_floats;  ///< of one matrix' inputs; twice
  std::size_t floats() const { return pieces_at + 2 * pieces_floats; }
};

constexpr Layout layout_of(Encoding encoding, Tile tile, std::size_t channels_in, std::size_t channels_out,
                           bool far_weights) {
  const std::size_t tiles = block_tiles(encoding, tile, channels_in, channels_out, far_weights),
                    matrices = tile.matrices();
  const Planes inputs = planes_of(channels_in, tiles);
  const Planes sums = planes_of(channels_out < kBlockFloats ? channels_out : kBlockFloats, tiles);
  const std::size_t inputs_at = matrices * round_to_lines(channels_in);
  const std::size_t sums_at = inputs_at + matrices * inputs.plane, pieces_at = sums_at + matrices * sums.plane;
  const std::size_t pieces_floats =
      encoding == Encoding::bf16x3 ? (tiles + kLine - 1) / kLine * gemm::panel_floats(encoding, channels_in) : 0;
  return {tiles, inputs, sums, matrices, inputs_at, sums_at, pieces_at, pieces_floats};
}

}  // namespace colonnade::kernels::winograd
