// SPDX-License-Identifier: Apache-2.0
// Convolution by square filters by Winograd's minimal filtering of filters of 2 to 5 taps a side (Lavin
// and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015), to which larger filters and strides come down.
// Tiles of eight inputs take the points 0, +-1/2, +-1, +-2, infinity, those of six 0, +-sqrt 2, +-1/sqrt 2, infinity
// (Barabasz et al., "Error Analysis and Improving the Accuracy of Winograd Convolution", 2018). fp32, channels-last.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/encoding.hpp"
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
inline constexpr Tile kTiles[] = {{5, 2}, {3, 2}, {6, 3}, {4, 3}, {2, 3}, {5, 4}, {3, 4}, {4, 5}, {2, 5}};

/// A filter of `kernel` rows and columns that moves by `stride` pixels. A tile has as many taps a side as taps() says.
/// Others than its own come down to them: `parts()` x `parts()` pixels, `step()` apart, count as the channels of one,
/// the polyphase components of the image where there is a stride. Tap t of part p is tap stride * t + step() * p of the
/// filter, or none.
struct Filter {
  std::size_t kernel;
  std::size_t stride;

  constexpr Filter(std::size_t kernel_ = 3, std::size_t stride_ = 1)
      : kernel(kernel_),
        stride(stride_),
        taps_(stride > 1 ? (kernel + stride - 1) / stride : best_taps()),
        parts_(stride > 1 ? stride : parts_of(taps_)) {}

  /// Without a stride, those that take the fewest products.
  constexpr std::size_t taps() const { return taps_; }
  constexpr std::size_t parts() const { return parts_; }
  constexpr std::size_t step() const { return stride > 1 ? 1 : taps_; }
  /// Channels of an image of so many, as tiles see it.
  constexpr std::size_t channels(std::size_t of_image) const { return parts_ * parts_ * of_image; }
  /// The filter is the tile's.
  constexpr bool whole() const { return kernel == taps_; }

 private:
  constexpr std::size_t parts_of(std::size_t taps) const { return (kernel + taps - 1) / taps; }
  /// Of an output in a row of the tile that has the most, in sixtieths: eight inputs, six for two taps.
  constexpr std::size_t products(std::size_t taps) const {
    return parts_of(taps) * (taps == 2 ? 60 * 6 / 5 : 60 * 8 / (9 - taps));
  }
  constexpr std::size_t best_taps() const {
    std::size_t best = 2;
    for (std::size_t taps = 3; taps <= 5; ++taps)
      if (products(taps) < products(best)) best = taps;
    return best;
  }

  std::size_t taps_;
  std::size_t parts_;
};

/// Tiles of so many outputs that a row or column of `pixels` takes: those of `outputs * dilation` pixels make
/// `dilation` tiles, whose pixels are `dilation` apart and which begin one beside the other.
constexpr std::size_t tiles_across(std::size_t outputs, std::size_t dilation, std::size_t pixels) {
  const std::size_t span = outputs * dilation, rest = pixels % span;
  return pixels / span * dilation + (rest < dilation ? rest : dilation);
}

/// Floats of transformed weights: for each panel of gemm::kPanel output channels a matrix [channels_in][kPanel] for
/// each product. A block of panels is so read from front to back. Encoded as gemm.hpp says. Here and
/// below, where no filter is given, channels are those that tiles see.
std::size_t packed_floats(Encoding encoding, Tile tile, std::size_t channels_in, std::size_t channels_out) noexcept;
/// Transforms and packs output channels [first, first + count), given as [count][channels_in][kernel][kernel] of the
/// image, in double precision. Ranges start at multiples of gemm::kPanel.
void pack(Tile tile, Filter filter, const float* weights, std::size_t channels_in, std::size_t first, std::size_t count,
          float* packed) noexcept;
/// Likewise in the encoding bf16x3; `whole` has room for a panel of pack().
void pack_pieces(Tile tile, Filter filter, const float* weights, std::size_t channels_in, std::size_t first,
                 std::size_t count, float* whole, float* packed) noexcept;

/// What a convolution of one image takes: a pure function of the shapes, for whoever weighs one tile against another.
struct Work {
  double multiply_flop = 0;   ///< of the matrix products, with the tiles and panels that stick out
  double transform_flop = 0;  ///< two for each operation on a lane, so that both kinds have the same peak
  double input_floats = 0;    ///< of the tiles before and after their transforms
  double split_floats = 0;    ///< that matrix units cut into pieces
  double weights_read = 0;    ///< floats: all weights pass once for each block of tiles
  double block_floats = 0;    ///< what a block goes through: all weights and its transformed inputs
};
Work work(Encoding encoding, Tile tile, std::size_t rows, std::size_t width, std::size_t channels_in,
          std::size_t channels_out, bool far_weights) noexcept;

/// A number of tile rows: `outputs` output rows each, over the whole width.
///
/// Input rows: in_rows[(outputs * tile_row + i) * parts + p], i in [0, outputs + taps - 1), p in [0, parts), is the row
/// at stride * (first output row of the tile row + i) + step * p - pad_top; null stands for zeros. The table has
/// (outputs * tile_rows + taps - 1) * parts rows. Pixels of a row, from -pad_left on, feed the columns of tiles
/// likewise; those outside [0, width_in) are zero. What no tap of the filter reads counts as zero.
/// With a dilation, of filters that are whole() and have no stride, every tile row has inputs of its own:
/// in_rows[inputs * tile_row + i], `dilation` rows apart, and so have its outputs; columns of tiles are interleaved
/// (tiles_across).
/// Output rows: out_rows[outputs * tile_row + i], i in [0, outputs); null ones, below the last row, are not written.
/// residual_rows likewise (null table: none).
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
  Filter filter;
  std::size_t dilation = 1;
  std::size_t channels_in = 0;  ///< of the image
  std::size_t channels_out = 0;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
  std::ptrdiff_t residual_pixel_stride = 0;
  const float* weights = nullptr;  ///< packed, from the first output channel of the call on
  const float* bias = nullptr;     ///< channels_out values, or null
  Epilogue epilogue;
  bool far_weights = false;  ///< they come from beyond the second-level cache for each block of tiles: larger blocks
  float* workspace = nullptr;
};

/// Floats of workspace that a call with these channels, or fewer output channels, needs, whatever the width and the
/// number of tile rows.
std::size_t workspace_floats(Encoding encoding, Tile tile, std::size_t channels_in, std::size_t channels_out,
                             bool far_weights) noexcept;

using Fn = void (*)(const Args&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  Tile tile;
  Encoding encoding;  ///< of its weights
  Fn run;
};

std::span<const Kernel> table() noexcept;
/// The best kernel of a tile and an encoding that a tier runs.
const Kernel& select(Features features, Encoding encoding, Tile tile) noexcept;

}  // namespace colonnade::kernels::winograd
