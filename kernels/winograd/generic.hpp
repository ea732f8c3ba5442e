// SPDX-License-Identifier: Apache-2.0
// Blocks of tiles: input transform, 36 matrix products, output transform.
#pragma once

#include "kernels/gemm/microkernel.hpp"
#include "kernels/winograd/transform.hpp"

namespace colonnade::kernels::winograd {
namespace {

/// out[R][V * kLanes] = in[R][k] * weights, all rows whole.
struct Product {
  const float* in;
  std::ptrdiff_t in_stride;
  const float* weights;
  std::size_t panel_stride;
  std::size_t k;
  float* out;
  std::ptrdiff_t out_stride;
};

struct ProductTile {
  using Fn = void (*)(const Product&) noexcept;

  template <std::size_t R, std::size_t V>
  static void run(const Product& p) noexcept {
    Sums<R, V> sums;
    clear(sums);
    multiply<0, R>(sums, p.in, p.in_stride, p.weights, p.panel_stride, p.k);
    store_sums(sums, p.out, p.out_stride);
  }
};

inline constexpr auto kProducts = tile_tables<ProductTile>(std::make_index_sequence<kTilePanels>());

/// Where tile `index` of the call lies.
struct Place {
  std::size_t tile_row;
  std::size_t x;
};

inline std::size_t tiles_across(const Args& a) { return (a.width_out + kTile - 1) / kTile; }
inline Place place_of(const Args& a, std::size_t index) {
  return {index / tiles_across(a), index % tiles_across(a) * kTile};
}

struct Workspace {
  float* inputs;
  Planes input_planes;
  float* sums;
  Planes sum_planes;
};

inline void transform_inputs(const Args& a, std::size_t first, std::size_t count, const Workspace& w) {
  InputTile tile{};
  tile.pixel_stride = a.in_pixel_stride;
  tile.channels = a.channels_in;
  for (std::size_t t = 0; t < count; ++t) {
    const Place place = place_of(a, first + t);
    const auto left = static_cast<std::ptrdiff_t>(place.x) - static_cast<std::ptrdiff_t>(a.pad_left);
    const std::size_t limit = a.width_in + a.pad_left;
    tile.first_column = place.x < a.pad_left ? a.pad_left - place.x : 0;
    tile.last_column = limit <= place.x ? 0 : limit - place.x < kInputTile ? limit - place.x : kInputTile;
    for (std::size_t i = 0; i < kInputTile; ++i) {
      const float* row = a.in_rows[place.tile_row * kTile + i];
      tile.rows[i] = row == nullptr ? nullptr : row + left * a.in_pixel_stride;
    }
    float* to = w.inputs + t * w.input_planes.stride;
    if (tile.whole()) transform_input_tile<true>(tile, to, w.input_planes.plane);
    else transform_input_tile<false>(tile, to, w.input_planes.plane);
  }
}

/// The product of one of the 36 matrices for `count` tiles and one block of panels.
inline void multiply_block(Product product, std::size_t count, std::size_t panels) {
  const TileTable<ProductTile>& table = kProducts.of[panels - 1];
  const std::size_t most = most_rows(kTileRows[panels - 1], product.in_stride);
  for (std::size_t tiles = (count + most - 1) / most; tiles > 0; --tiles) {
    const std::size_t rows = (count + tiles - 1) / tiles;
    table.of[rows - 1](product);
    product.in += static_cast<std::ptrdiff_t>(rows) * product.in_stride;
    product.out += static_cast<std::ptrdiff_t>(rows) * product.out_stride;
    count -= rows;
  }
}

inline void multiply_matrices(const Args& a, std::size_t count, const Workspace& w) {
  const std::size_t panels = (a.channels_out + kPanelFloats - 1) / kPanelFloats;
  const float* weights = a.weights;
  for (std::size_t matrix = 0; matrix < kMatrices; ++matrix) {
    for (std::size_t panel = 0; panel < panels;) {
      const std::size_t left = panels - panel;
      const std::size_t blocks = (left + kTilePanels - 1) / kTilePanels;
      const std::size_t taken = (left + blocks - 1) / blocks;
      multiply_block({w.inputs + matrix * w.input_planes.plane, static_cast<std::ptrdiff_t>(w.input_planes.stride),
                      weights, a.channels_in * kPanelFloats, a.channels_in,
                      w.sums + matrix * w.sum_planes.plane + panel * kPanelFloats,
                      static_cast<std::ptrdiff_t>(w.sum_planes.stride)},
                     count, taken);
      weights += taken * a.channels_in * kPanelFloats;
      panel += taken;
    }
  }
}

inline void set_rows(const Args& a, const Place& place, OutputTile& tile) {
  const auto x = static_cast<std::ptrdiff_t>(place.x);
  for (std::size_t i = 0; i < kTile; ++i) {
    const std::size_t row = place.tile_row * kTile + i;
    float* out = a.out_rows[row];
    tile.rows[i] = out == nullptr ? nullptr : out + x * a.out_pixel_stride;
    tile.residual[i] = out == nullptr || a.residual_rows == nullptr
                           ? nullptr
                           : a.residual_rows[row] + x * a.residual_pixel_stride;
  }
  tile.columns = a.width_out - place.x < kTile ? a.width_out - place.x : kTile;
}

inline void write_outputs(const Args& a, std::size_t first, std::size_t count, const Workspace& w) {
  OutputTile tile{};
  tile.out_stride = a.out_pixel_stride;
  tile.residual_stride = a.residual_pixel_stride;
  tile.channels = a.channels_out;
  tile.bias = a.bias;
  tile.residual_after = a.epilogue.residual_after;
  tile.slope = a.epilogue.activation.slope;
  with_fused_unary(a.epilogue.activation, [&](const auto& function) {
    for (std::size_t t = 0; t < count; ++t) {
      set_rows(a, place_of(a, first + t), tile);
      write_output_tile(tile, function, w.sums + t * w.sum_planes.stride, w.sum_planes.plane);
    }
  });
}

/// Tiles of the next block, of those left: blocks of nearly equal size, in whole register tiles.
inline std::size_t next_block(std::size_t left, std::size_t most) {
  constexpr std::size_t kStep = 6;
  const std::size_t blocks = (left + most - 1) / most;
  const std::size_t even = ((left + blocks - 1) / blocks + kStep - 1) / kStep * kStep;
  return even < left ? even : left;
}

inline void convolve(const Args& a) {
  const std::size_t most = block_tiles(a.channels_in, a.channels_out);
  Workspace w{};
  w.input_planes = planes_of(a.channels_in, most);
  w.sum_planes = planes_of(a.channels_out, most);
  w.inputs = a.workspace;
  w.sums = a.workspace + kMatrices * w.input_planes.plane;
  const std::size_t tiles = a.tile_rows * tiles_across(a);
  for (std::size_t first = 0; first < tiles;) {
    const std::size_t count = next_block(tiles - first, most);
    transform_inputs(a, first, count, w);
    multiply_matrices(a, count, w);
    write_outputs(a, first, count, w);
    first += count;
  }
}

}  // namespace
}  // namespace colonnade::kernels::winograd
