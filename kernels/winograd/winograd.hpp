// SPDX-License-Identifier: Apache-2.0
// 3x3 and 5x5 convolution, stride 1, dilation 1, by Winograd's minimal filtering F(6x6, 3x3), F(4x4, 3x3), F(2x2, 3x3),
// F(4x4, 5x5) or F(2x2, 5x5) (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015). Tiles of
// eight inputs take the points 0, +-1/2, +-1, +-2, infinity, those of six 0, +-sqrt 2, +-1/sqrt 2, infinity (Barabasz
// et al., "Error Analysis and Improving the Accuracy of Winograd Convolution", 2018). fp32, channels-last.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"
#include "kernels/base/unary.hpp"

namespace colonnade::kernels::winograd {

/// What is computed at a time: `outputs` rows and columns, by filters of `taps` rows and columns. More outputs need
/// fewer multiplications, fewer outputs fewer weights and padded tiles. Tiles of eight inputs err four times as much as
/// smaller ones.
struct Tile {
  std::size_t outputs;
  std::size_t taps;

  constexpr std::size_t inputs() const { return outputs + taps - 1; }
  /// Products of a tile.
  constexpr std::size_t matrices() const { return inputs() * inputs(); }
  friend constexpr bool operator==(const Tile&, const Tile&) = default;
};
inline constexpr Tile kTiles[] = {{6, 3}, {4, 3}, {2, 3}, {4, 5}, {2, 5}};

/// Floats of transformed weights: for each panel of gemm::kPanel output channels a matrix [channels_in][kPanel] for
/// each product. A block of panels is so read from front to back.
/// In pieces (gemm.hpp) for matrix units.
std::size_t packed_floats(bool pieces, Tile tile, std::size_t channels_in, std::size_t channels_out) noexcept;
/// Transforms and packs output channels [first, first + count), given as [count][channels_in][taps][taps], in double
/// precision. Ranges start at multiples of gemm::kPanel.
void pack(Tile tile, const float* weights, std::size_t channels_in, std::size_t first, std::size_t count,
          float* packed) noexcept;
/// Likewise in pieces; `whole` has room for a panel of pack().
void pack_pieces(Tile tile, const float* weights, std::size_t channels_in, std::size_t first, std::size_t count,
                 float* whole, float* packed) noexcept;

/// What a convolution of one image takes: a pure function of the shapes, for whoever weighs one tile against another.
struct Work {
  double multiply_flop = 0;   ///< of the matrix products, with the tiles and panels that stick out
  double transform_flop = 0;  ///< two for each operation on a lane, so that both kinds have the same peak
  double split_floats = 0;    ///< that matrix units cut into pieces
  double weights_read = 0;    ///< floats: all weights pass once for each block of tiles
  double block_floats = 0;    ///< what a block goes through: all weights and its transformed inputs
};
Work work(bool pieces, Tile tile, std::size_t rows, std::size_t width, std::size_t channels_in,
          std::size_t channels_out) noexcept;

/// A number of tile rows: `outputs` output rows each, over the whole width.
///
/// in_rows[outputs * tile_row + i], i in [0, outputs + taps - 1), is the input row at (first output row of the tile
/// row)
/// - pad_top + i; null stands for zeros. There are outputs * tile_rows + taps - 1 of them. Input pixel x - pad_left + j
/// of the row feeds tile column j; pixels outside [0, width) are zero. Output rows are out_rows[outputs * tile_row +
/// i], i in [0, outputs); null ones are not written (below the last row). residual_rows likewise (null table: none).
/// `workspace` has workspace_floats(...) floats, 64-byte aligned. Every tile gives the same bits whichever tile rows
/// share a call.
struct Args {
  std::size_t tile_rows = 1;
  const float* const* in_rows = nullptr;
  float* const* out_rows = nullptr;
  const float* const* residual_rows = nullptr;
  std::size_t width_in = 0;
  std::size_t width_out = 0;
  std::size_t pad_left = 0;
  std::size_t channels_in = 0;
  std::size_t channels_out = 0;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
  std::ptrdiff_t residual_pixel_stride = 0;
  const float* weights = nullptr;  ///< packed, from the first output channel of the call on
  const float* bias = nullptr;     ///< channels_out values, or null
  Epilogue epilogue;
  float* workspace = nullptr;
};

/// Floats of workspace that a call with these channels needs, whatever the width and the number of tile rows.
std::size_t workspace_floats(bool pieces, Tile tile, std::size_t channels_in, std::size_t channels_out) noexcept;

using Fn = void (*)(const Args&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  Tile tile;
  bool pieces;  ///< takes weights in pieces
  Fn run;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Isa isa, Tile tile) noexcept;

}  // namespace colonnade::kernels::winograd
