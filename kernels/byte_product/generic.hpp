// SPDX-License-Identifier: Apache-2.0
// The loops around the register tile: groups, blocks of pixels, panels of weights, tiles. Pixels of a block stay in the
// cache while all panels pass.
#pragma once

#include "kernels/byte_product/padded_rows.hpp"
#include "kernels/byte_product/tile.hpp"

namespace colonnade::kernels::byte_product {
namespace {

inline constexpr std::size_t kBlockBytes = 192 * 1024;
inline constexpr std::size_t kFewestPixels = 48, kMostPixels = 768, kPixelsEven = 24;

inline std::size_t ceil_div(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

/// From one gathered pixel to the next: whole lines where pixels are long, not all in the same sets of a cache.
inline std::size_t pixel_channels(std::size_t k) {
  constexpr std::size_t kLine = 64 / sizeof(Channel), kSets = 1024 / sizeof(Channel);
  if (k < kLine) return ceil_div(k, kStep) * kStep;
  const std::size_t channels = ceil_div(k, kLine) * kLine;
  return channels % kSets == 0 ? channels + kLine : channels;
}

/// Pixels of a block that are `bytes` apart.
inline std::size_t block_pixels(std::size_t bytes) {
  const std::size_t fitting = bytes == 0 ? kMostPixels : kBlockBytes / bytes / kPixelsEven * kPixelsEven;
  return fitting < kFewestPixels ? kFewestPixels : fitting < kMostPixels ? fitting : kMostPixels;
}

/// Channels of a gathered pixel.
inline std::size_t gathered_channels(const Args& a) {
  return a.kernel_h * padded_row(kStep, a.kernel_w * a.channels_in);
}

/// Narrower or fewer outputs may have rows padded where wider or more are gathered.
inline std::size_t workspace_bytes(const Args& sizes) noexcept {
  Args few = sizes;
  if (few.channels_out > kMostOutputs) few.channels_out = kMostOutputs;
  const std::size_t pixel = pixel_channels(gathered_channels(sizes)) * sizeof(Channel);
  const std::size_t gathered = block_pixels(pixel) * pixel + kOverrun, rows = padded_rows_bytes(few);
  const std::size_t padded = rows < kMostRowsBytes ? rows : kMostRowsBytes;
  return gathered < padded ? padded : gathered;
}

/// Pixels that tiles walk with one stride: `count` of all output rows from `first` on, whose taps lie `offset` bytes
/// from where the rows begin.
struct Run {
  std::size_t first;
  std::size_t count;
  const char* const* rows;
  std::size_t row_count;
  Parts parts;
  std::ptrdiff_t offset;
  std::ptrdiff_t stride;
};

/// Panels that a tile covers.
struct Block {
  const TileFn* tiles;
  std::size_t most_rows;
  std::size_t panels;
  std::size_t panels_after;
  std::size_t first_channel;
  std::size_t lanes;
  const std::int8_t* weights;
};

/// A product of one group, as its tiles see it.
struct Product {
  const Args& a;
  std::size_t steps;  ///< of all rows of taps
  std::size_t panel_stride;
  std::size_t value_bytes;  ///< of an output
  std::size_t inputs;       ///< of a sum
};

inline void make_scales(const Product& p, const Block& block, Scales& scales) {
  const Rescale& out = p.a.out;
  scales.tilts = p.a.tilts != nullptr;
  for (std::size_t i = 0; i < block.panels * kPanel; ++i) {
    std::int32_t weights;
    const std::int8_t* const panel = block.weights + i / kPanel * p.panel_stride;
    std::memcpy(&weights, panel + i % kPanel * sizeof weights, sizeof weights);
    const bool is_there = i < block.lanes;
    const std::size_t channel = block.first_channel + i;
    const auto offset = static_cast<std::uint32_t>(out.offset != nullptr && is_there ? out.offset[channel] : 0);
    scales.tilt[i] = scales.tilts && is_there ? p.a.tilts[channel] : 0;
    const auto tilts = static_cast<std::uint32_t>(scales.tilt[i]) * static_cast<std::uint32_t>(p.inputs);
    scales.start[i] = static_cast<std::int32_t>(offset - (static_cast<std::uint32_t>(weights) + tilts) * p.a.x_zero);
  }
  set_numbers(out, block.first_channel, block.lanes, block.panels * kPanel, scales);
}

/// Weights of the panels after a block, which tiles bring into the second-level cache while they multiply: `share`
/// bytes each.
struct Fetch {
  const std::int8_t* from;
  std::size_t bytes;
  std::size_t share;
};

inline Fetch make_fetch(const Product& p, const Block& block, std::size_t tiles) {
  constexpr std::size_t kMostBytes = 384 * 1024;
  const std::size_t panels = block.panels_after < block.panels ? block.panels_after : block.panels;
  const std::size_t bytes = panels * p.panel_stride;
  const std::int8_t* const from = block.weights + block.panels * p.panel_stride;
  if (bytes > kMostBytes || tiles == 0) return {from, 0, 0};
  constexpr std::size_t kLine = 64;
  return {from, bytes, ceil_div(ceil_div(bytes, tiles), kLine) * kLine};
}

inline void multiply_run(const Product& p, const Block& block, const Scales& scales, const Run& run) {
  const Args& a = p.a;
  Tile tile;
  tile.rows = run.rows;
  tile.row_count = run.row_count;
  tile.offset = run.offset;
  tile.stride = run.stride;
  tile.steps = p.steps / run.row_count;
  tile.parts = run.parts;
  tile.weights = block.weights + kPanel * sizeof(std::int32_t);
  tile.panel_stride = p.panel_stride;
  tile.scales = &scales;
  tile.rescale = &a.out;
  tile.lanes = block.lanes;
  const std::size_t tiles = ceil_div(run.count, block.most_rows), even = run.count / tiles,
                    larger = run.count - even * tiles;
  const Fetch fetch = make_fetch(p, block, tiles);
  std::size_t row = run.first / a.width_out, x = run.first % a.width_out;
  for (std::size_t i = 0; i < tiles; ++i) {
    const std::size_t rows = even + (i < larger ? 1 : 0);
    for (std::size_t r = 0; r < rows; ++r) {
      tile.out[r] = static_cast<std::uint8_t*>(a.out_rows[row]) + static_cast<std::ptrdiff_t>(x) * a.out_pixel_stride +
                    block.first_channel * p.value_bytes;
      if (++x == a.width_out) x = 0, ++row;
    }
    const std::size_t fetched = i * fetch.share;
    const bool fetches = fetched < fetch.bytes && p.steps > 0;
    tile.next = fetches ? fetch.from + fetched : tile.weights;
    tile.next_step = fetches ? static_cast<std::ptrdiff_t>(ceil_div(fetch.share, p.steps)) : 0;
    block.tiles[rows - 1](tile);
    tile.offset += static_cast<std::ptrdiff_t>(rows) * run.stride;
  }
}

/// Panels of the next block, of those left.
inline std::size_t block_panels(std::size_t pixels, std::size_t left) {
  if (pixels <= kWideRows && left >= kWidePanels) return kWidePanels;
  return ceil_div(left, ceil_div(left, kTilePanels));
}

/// The panels of a group from one on that tiles over so many pixels take together.
inline Block block_at(const Product& p, std::size_t group, const std::int8_t* weights, std::size_t pixels,
                      std::size_t panel) {
  const Args& a = p.a;
  const std::size_t panels = ceil_div(a.channels_out, kPanel), first = panel * kPanel;
  const std::size_t taken = block_panels(pixels, panels - panel);
  const bool wide = taken > kTilePanels;
  const std::size_t left = a.channels_out - first, lanes = left < taken * kPanel ? left : taken * kPanel;
  return {wide ? kWideTiles.of : kTiles.of[taken - 1].of,
          wide ? kWideRows : kTileRows[taken - 1],
          taken,
          panels - panel - taken,
          group * a.channels_out + first,
          lanes,
          weights + panel * p.panel_stride};
}

/// All panels of a group times a run of pixels.
inline void multiply_panels(const Product& p, std::size_t group, const std::int8_t* weights, const Run& run) {
  const std::size_t panels = ceil_div(p.a.channels_out, kPanel);
  Scales scales{};
  for (std::size_t panel = 0; panel < panels;) {
    const Block block = block_at(p, group, weights, run.count, panel);
    make_scales(p, block, scales);
    multiply_run(p, block, scales, run);
    panel += block.panels;
  }
}

/// Whether all rows lie one behind the other, so that they are one.
inline bool rows_follow(const Args& a) {
  if (a.stride_w != 1 || a.kernel_h != 1) return false;
  const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(a.width_out) * a.in_pixel_stride;
  for (std::size_t y = 0; y < a.rows; ++y)
    if (a.in_rows[y] == nullptr || a.in_rows[y] != a.in_rows[0] + static_cast<std::ptrdiff_t>(y) * row) return false;
  return true;
}

/// Where pixels are multiplied where they lie: pixels of a run, a multiple of which is all; else none.
inline std::size_t pixels_in_place(const Args& a) {
  constexpr std::size_t kFewInPlace = 12;
  const bool has_one_tap = a.kernel_w == 1 && a.pad_left == 0 && a.kernel_h <= kMostTapRows;
  if (!kReadsBytes || !has_one_tap || a.channels_in % kStep != 0) return 0;
  if ((a.width_out - 1) * a.stride_w >= a.width_in) return 0;
  if (rows_follow(a)) return a.rows * a.width_out;
  if (a.width_out < kFewInPlace) return 0;
  for (std::size_t y = 0; y < a.rows * a.kernel_h; ++y)
    if (a.in_rows[y] == nullptr) return 0;
  return a.width_out;
}

inline void multiply_in_place(const Product& p, std::size_t group, const std::int8_t* weights, std::size_t in_place) {
  const Args& a = p.a;
  const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(a.stride_w) * a.in_pixel_stride;
  const std::size_t pixels = a.rows * a.width_out, most = block_pixels(gathered_channels(a));
  for (std::size_t from = 0; from < pixels; from += in_place) {
    const char* rows[kMostTapRows];
    for (std::size_t ky = 0; ky < a.kernel_h; ++ky)
      rows[ky] = reinterpret_cast<const char*>(a.in_rows[from / a.width_out * a.kernel_h + ky]) + group * a.channels_in;
    for (std::size_t first = 0; first < in_place; first += most) {
      const std::size_t count = in_place - first < most ? in_place - first : most;
      multiply_panels(p, group, weights,
                      {from + first,
                       count,
                       rows,
                       a.kernel_h,
                       {1, a.channels_in, 0},
                       static_cast<std::ptrdiff_t>(first) * stride,
                       stride});
    }
  }
}

inline void multiply_padded(const Product& p, std::size_t group, const std::int8_t* weights) {
  const Args& a = p.a;
  constexpr std::size_t kMostBlocks = (kMostOutputs / kPanel + kTilePanels - 1) / kTilePanels;
  Block blocks[kMostBlocks];
  Scales scales[kMostBlocks];
  std::size_t count = 0;
  for (std::size_t panel = 0; panel < ceil_div(a.channels_out, kPanel); panel += blocks[count++].panels) {
    blocks[count] = block_at(p, group, weights, a.width_out, panel);
    make_scales(p, blocks[count], scales[count]);
  }
  PaddedRows rows(a, group * a.channels_in);
  const auto stride = static_cast<std::ptrdiff_t>(a.stride_w * a.channels_in * sizeof(Channel));
  for (std::size_t y = 0; y < a.rows; ++y) {
    const Run run{y * a.width_out, a.width_out, rows.of(y), a.kernel_h, {1, a.kernel_w * a.channels_in, 0}, 0, stride};
    for (std::size_t i = 0; i < count; ++i) multiply_run(p, blocks[i], scales[i], run);
  }
}

inline void multiply_gathered(const Product& p, std::size_t group, const std::int8_t* weights) {
  const Args& a = p.a;
  const std::size_t row_channels = padded_row(kStep, a.kernel_w * a.channels_in), pixels = a.rows * a.width_out;
  const Gather g{a, group * a.channels_in, row_channels, pixel_channels(gathered_channels(a))};
  const std::size_t bytes = g.pixel_channels * sizeof(Channel), most = block_pixels(bytes);
  const char* const memory = reinterpret_cast<const char*>(a.workspace);
  for (std::size_t first = 0; first < pixels; first += most) {
    const std::size_t count = pixels - first < most ? pixels - first : most;
    gather(g, first, count, reinterpret_cast<Channel*>(a.workspace));
    multiply_panels(p, group, weights,
                    {first,
                     count,
                     &memory,
                     1,
                     {a.kernel_h, a.kernel_w * a.channels_in, row_channels},
                     0,
                     static_cast<std::ptrdiff_t>(bytes)});
  }
}

inline void run(const Args& a) noexcept {
  if (a.rows * a.width_out * a.channels_out == 0) return;
  const Depth depth{a.kernel_h, a.kernel_w * a.channels_in};
  const Product product{a, gathered_channels(a) / kStep, panel_bytes(kPacking, depth),
                        makes_bytes(a.out) ? 1u : sizeof(float), a.kernel_h * depth.row};
  const std::size_t in_place = pixels_in_place(a);
  const bool pads = in_place == 0 && pads_rows(a);
  const std::int8_t* weights = a.weights;
  for (std::size_t group = 0; group < a.groups; ++group, weights += packed_bytes(kPacking, depth, a.channels_out)) {
    if (in_place > 0)
      multiply_in_place(product, group, weights, in_place);
    else if (pads)
      multiply_padded(product, group, weights);
    else
      multiply_gathered(product, group, weights);
  }
}

}  // namespace
}  // namespace colonnade::kernels::byte_product
