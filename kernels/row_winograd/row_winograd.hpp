// SPDX-License-Identifier: Apache-2.0
// Convolution along the rows of an image, or down its columns, by Winograd's minimal filtering in one dimension
// ("Arithmetic Complexity of Computations", 1980): of one-dimensional signals, and of filters that are no square or
// have a dilation. Points and transforms are those of kernels/winograd, once instead of twice. fp32, channels-last.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"
#include "kernels/base/unary.hpp"

namespace colonnade::kernels::row_winograd {

/// What is computed at a time: `outputs` pixels of a row, a dilation apart, by filters of `taps`.
struct Tile {
  std::size_t outputs;
  std::size_t taps;

  constexpr std::size_t inputs() const { return outputs + taps - 1; }
  friend constexpr bool operator==(const Tile&, const Tile&) = default;
};
inline constexpr Tile kTiles[] = {{6, 3}, {5, 4}, {4, 5}, {4, 3}, {5, 2}};

/// A filter of `height` rows and `width` columns, which are `dilation` apart. A tile takes its columns in parts of as
/// many as it has taps; the parts of all rows count as channels of one. Down a column, a filter of one column is
/// described as if it lay along a row: `width` are its rows.
struct Filter {
  std::size_t height = 1;
  std::size_t width = 3;
  std::size_t dilation = 1;

  constexpr std::size_t parts(Tile tile) const { return (width + tile.taps - 1) / tile.taps; }
  /// Columns of the last part.
  constexpr std::size_t last_taps(Tile tile) const { return width - (parts(tile) - 1) * tile.taps; }
  /// Terms of the sum at a point, of an image of so many channels.
  constexpr std::size_t terms(Tile tile, std::size_t channels_in) const { return height * parts(tile) * channels_in; }
};

/// Floats of transformed weights: for each panel of gemm::kPanel output channels a matrix [terms][kPanel] for each
/// point; of the terms, rows of the filter are outermost, channels innermost.
std::size_t packed_floats(Tile tile, const Filter& filter, std::size_t channels_in, std::size_t channels_out) noexcept;
/// Transforms and packs output channels [first, first + count), given as [count][channels_in][height][width], in double
/// precision. Ranges start at multiples of gemm::kPanel.
void pack(Tile tile, const Filter& filter, const float* weights, std::size_t channels_in, std::size_t first,
          std::size_t count, float* packed) noexcept;

/// What a convolution of one image takes: a pure function of the shapes, for whoever weighs one tile against another.
struct Work {
  double multiply_flop = 0;   ///< of the matrix products, with the tiles and panels that stick out
  double transform_flop = 0;  ///< two for each operation on a lane, so that both kinds have the same peak
  double weights_read = 0;    ///< floats: all weights pass once for each block of tiles
};
Work work(Tile tile, const Filter& filter, std::size_t rows, std::size_t width, std::size_t channels_in,
          std::size_t channels_out) noexcept;

/// A number of output rows, or, where tiles go `down`, of rows of tiles.
///
/// Input rows: in_rows[row * height + i] is the one that row i of the filter reads for an output row; null stands for
/// zeros. Its pixels from -pad_left on feed the first output; those outside [0, width_in) are zero. What no tap of the
/// filter reads counts as zero. residual_rows as out_rows (null table: none).
///
/// Down: in_rows[(row * parts + part) * inputs + i] is the row that input i of a part of a row of tiles lies in, null
/// for zeros and for what no tap reads; out_rows[row * outputs + i] is that of output i, null where none is written.
/// Pixels of all rows belong together: width_in is width_out, pad_left 0. `workspace` has workspace_floats(...) floats,
/// 64-byte aligned. A pixel gives the same bits in whichever call it is computed, if calls start at multiples of
/// outputs * dilation pixels, or, down, rows.
struct Args {
  bool down = false;
  std::size_t rows = 1;
  const float* const* in_rows = nullptr;
  float* const* out_rows = nullptr;
  const float* const* residual_rows = nullptr;
  std::size_t width_in = 0;
  std::size_t width_out = 0;
  std::size_t pad_left = 0;
  Filter filter;
  std::size_t channels_in = 0;
  std::size_t channels_out = 0;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
  std::ptrdiff_t residual_pixel_stride = 0;
  const float* weights = nullptr;  ///< packed, from the first output channel of the call on
  const float* bias = nullptr;     ///< channels_out values, or null
  Epilogue epilogue;
  bool far_weights = false;  ///< they come from beyond the second-level cache for each block of tiles
  float* workspace = nullptr;
};

/// Floats of workspace that a call with these channels, or fewer output channels, needs, whatever the width and the
/// number of rows.
std::size_t workspace_floats(Tile tile, const Filter& filter, std::size_t channels_in,
                             std::size_t channels_out) noexcept;

using Fn = void (*)(const Args&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  Tile tile;
  Fn run;
};

std::span<const Kernel> table() noexcept;
/// The best kernel of a tile that a tier runs.
const Kernel& select(Features features, Tile tile) noexcept;

}  // namespace colonnade::kernels::row_winograd
