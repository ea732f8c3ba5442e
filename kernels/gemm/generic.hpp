// SPDX-License-Identifier: Apache-2.0
// The loops around the register tile: blocks of output channels, output rows, runs of pixels, tiles. A block of
// weights stays in the cache while all rows of the call pass.
#pragma once

#include "kernels/gemm/conv_tile.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/gemm/pair_units.hpp"
#include "kernels/gemm/runs.hpp"

namespace colonnade::kernels::gemm {
namespace {

static_assert(kPanel == kPanelFloats);

/// Floats of a second-level cache of 1 MiB, and the weights of one block of panels that leave room in it.
inline constexpr std::size_t kCacheFloats = 1024 * 1024 / sizeof(float);
inline constexpr std::size_t kBlockFloats = kCacheFloats / 4 * 3;

/// Panels that a tile covers: their place among the channels, and those that they read.
struct Block {
  const ConvTile::Fn* tiles;
  std::size_t most_rows;
  std::size_t panels;
  std::size_t panels_after;
  std::size_t input_channel;
  std::size_t first_channel;
  const float* weights;
};

/// The taps of pixels [x, x + rows) of a run, as a walk of the tile.
inline void set_walk(const ConvArgs& a, const Run& run, std::size_t x, std::size_t rows, const Block& block,
                     Tile& tile) {
  const bool has_first = x == run.x;
  const bool has_last = x + rows == run.x + run.pixels;
  std::size_t begin = run.begin;
  std::size_t end = run.end;
  if (rows == 1 && has_first) begin = run.first_begin;
  if (rows == 1 && has_last) end = run.last_end;
  tile.row_floats = (end - begin) * a.channels_in;
  tile.skip_first = rows > 1 && has_first ? (run.first_begin - begin) * a.channels_in : 0;
  tile.skip_last = rows > 1 && has_last ? (end - run.last_end) * a.channels_in : 0;
  tile.weights = block.weights + begin * a.channels_in * kPanel;
  const auto pixel =
      static_cast<std::ptrdiff_t>(x * a.stride_w + begin * a.dilation_w) - static_cast<std::ptrdiff_t>(a.pad_left);
  tile.input_offset = pixel * a.in_pixel_stride + static_cast<std::ptrdiff_t>(block.input_channel);
}

/// How the tiles of a block bring the weights of the next block into the second-level cache while they multiply: the
/// first `tiles` of them `share` floats each, `step` a product. All of them at once would wait for memory, so that what
/// the block's arithmetic could hide is spread over it.
struct Fetch {
  const float* from;
  std::size_t tiles;
  std::size_t share;
  std::size_t step;
};

/// A pixel whose weights no cache holds is multiplied as fast as memory gives them: soonest in one stream, asked for
/// ahead.
inline bool streams_weights(const ConvArgs& a) {
  constexpr std::size_t kFarFloats = 32 * kCacheFloats;
  const bool product = a.kernel_h * a.kernel_w == 1 && a.rows * a.width_out == 1;
  return product && ceil_div(a.channels_out, kPanel) * a.panel_stride > kFarFloats;
}

inline Fetch make_fetch(const ConvArgs& a, const Block& block, std::size_t tiles) {
  constexpr std::size_t kAheadFloats = 64 * kPanel;
  if (streams_weights(a)) return {block.weights + kAheadFloats, 1, 0, kPanel};
  const std::size_t panels = block.panels_after < block.panels ? block.panels_after : block.panels;
  if (panels == 0 || 2 * block.panels * a.panel_stride > kCacheFloats) return {block.weights, 0, 0, 0};
  const bool contiguous = a.panel_stride == a.channels_in * kPanel;
  const std::size_t step = contiguous && panels < tiles ? ceil_div(panels * kPanel, tiles) : kPanel;
  return {block.weights + block.panels * a.panel_stride, ceil_div(panels * kPanel, step),
          step * a.panel_stride / kPanel, step};
}

inline void set_fetch(const Fetch& fetch, std::size_t index, Tile& tile) {
  const bool fetches = index < fetch.tiles;
  tile.next = fetches ? fetch.from + index * fetch.share : tile.weights;
  tile.next_step = fetches ? static_cast<std::ptrdiff_t>(fetch.step) : 0;
}

/// From tile to tile of a run whose pixels all read the same taps only the places move.
inline void conv_run(const ConvArgs& a, const Block& block, const Run& run, const Cut& cut, std::size_t row,
                     const Fetch& fetch, Tile& tile, std::size_t& tiles_run) {
  const bool alike = run.first_begin == run.begin && run.last_end == run.end;
  const auto first = static_cast<std::ptrdiff_t>(run.x), channel = static_cast<std::ptrdiff_t>(block.first_channel);
  const bool has_residual = a.residual_rows != nullptr;
  tile.out = a.out_rows[row] + (first * tile.out_stride + channel);
  if (has_residual) tile.residual = a.residual_rows[row] + (first * tile.residual_stride + channel);
  std::size_t x = run.x;
  for (std::size_t i = 0; i < cut.tiles; ++i) {
    const std::size_t rows = cut.even + (i < cut.larger ? 1 : 0);
    if (i == 0 || !alike) set_walk(a, run, x, rows, block, tile);
    set_fetch(fetch, tiles_run++, tile);
    block.tiles[rows - 1](tile);
    x += rows;
    const auto pixels = static_cast<std::ptrdiff_t>(rows);
    tile.input_offset += pixels * tile.input_stride;
    tile.out += pixels * tile.out_stride;
    if (has_residual) tile.residual += pixels * tile.residual_stride;
  }
}

inline Tile make_tile(const ConvArgs& a, const Epilogue& epilogue) {
  Tile tile{};
  const bool contiguous = a.dilation_w == 1 && a.in_pixel_stride == static_cast<std::ptrdiff_t>(a.channels_in);
  tile.taps_h = a.kernel_h;
  tile.input_stride = static_cast<std::ptrdiff_t>(a.stride_w) * a.in_pixel_stride;
  tile.piece_floats = contiguous ? a.kernel_w * a.channels_in : a.channels_in;
  tile.piece_gap = contiguous ? 0
                              : static_cast<std::ptrdiff_t>(a.dilation_w) * a.in_pixel_stride -
                                    static_cast<std::ptrdiff_t>(a.channels_in);
  tile.weights_row = a.kernel_w * a.channels_in * kPanel;
  tile.panel_stride = a.panel_stride;
  tile.out_stride = a.out_pixel_stride;
  tile.residual_stride = a.residual_pixel_stride;
  tile.accumulate = a.accumulate;
  tile.partial_sums = a.partial_sums;
  tile.epilogue = &epilogue;
  return tile;
}

inline void conv_rows(const ConvArgs& a, const Runs& runs, const Block& block, std::size_t lanes) {
  Epilogue epilogue = a.epilogue;
  if (epilogue.activation.slope != nullptr) epilogue.activation.slope += block.first_channel;
  alignas(64) float scratch[kScratchFloats];
  Tile tile = make_tile(a, epilogue);
  tile.scratch = scratch;
  tile.lanes = lanes;
  tile.bias = a.bias == nullptr ? nullptr : a.bias + block.first_channel;
  Cut cuts[kMostRuns];
  std::size_t tiles = 0;
  for (std::size_t i = 0; i < runs.count; ++i) {
    cuts[i] = cut_of(runs.of[i].pixels, block.most_rows);
    tiles += cuts[i].tiles;
  }
  const Fetch fetch = make_fetch(a, block, tiles * a.rows);
  std::size_t tiles_run = 0;
  for (std::size_t row = 0; row < a.rows; ++row) {
    tile.input_rows = a.in_rows + row * a.kernel_h;
    for (std::size_t i = 0; i < runs.count; ++i) {
      conv_run(a, block, runs.of[i], cuts[i], row, fetch, tile, tiles_run);
    }
  }
}

/// What a step of all tiles over some panels costs. With few registers its multiplications, in vectors: a tile takes as
/// long as those of kTileLatency, for which its next sums wait. Else its loads: a vector of weights a panel, often from
/// the second-level cache, and a value a pixel, which all its panels share.
inline std::size_t step_cost(const ConvArgs& a, const Runs& runs, std::size_t panels) {
  const std::size_t rows = kTileRows[panels - 1];
  if constexpr (kFewRegisters) {
    constexpr std::size_t kTileLatency = 8;
    const auto tile = [&](std::size_t pixels) {
      const std::size_t vectors = pixels * panels * kPanelVectors;
      return vectors > kTileLatency ? vectors : kTileLatency;
    };
    std::size_t cost = 0;
    for (std::size_t i = 0; i < runs.count; ++i) {
      const Cut cut = cut_of(runs.of[i].pixels, rows);
      cost += cut.larger * tile(cut.even + 1) + (cut.tiles - cut.larger) * tile(cut.even);
    }
    return cost;
  } else {
    constexpr std::size_t kValue = 2, kVector = 5;
    return kValue * a.width_out + kVector * ceil_div(a.width_out, rows) * panels;
  }
}

/// Panels of the next block, of those left: such that a panel costs least.
inline std::size_t block_panels(const ConvArgs& a, const Runs& runs, std::size_t left) {
  if (streams_weights(a)) return 1;
  if (a.width_out <= kWideRows && left >= kWidePanels && !a.partial_sums) return kWidePanels;
  const std::size_t panel_floats = a.kernel_h * a.kernel_w * a.channels_in * kPanel;
  std::size_t best = 1;
  for (std::size_t panels = 2; panels <= kTilePanels && panels <= left; ++panels) {
    if (panels > 2 && panel_floats * panels > kBlockFloats) break;
    const std::size_t cost = step_cost(a, runs, panels) * best, least = step_cost(a, runs, best) * panels;
    if (cost < least || (cost == least && !kFewRegisters)) best = panels;
  }
  return ceil_div(left, ceil_div(left, best));
}

/// Output channels of group `group`, whose inputs are those of a pixel from `input_channel` on.
inline void conv_group(const ConvArgs& a, const Runs& runs, std::size_t group, std::size_t input_channel,
                       const float* weights) {
  const std::size_t panels = ceil_div(a.channels_out, kPanel);
  for (std::size_t panel = 0; panel < panels;) {
    const std::size_t taken = block_panels(a, runs, panels - panel);
    const bool wide = taken > kTilePanels;
    const std::size_t first = panel * kPanel;
    const std::size_t lanes = a.channels_out - first < taken * kPanel ? a.channels_out - first : taken * kPanel;
    const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(a.stride_w) * a.in_pixel_stride;
    const bool in_parts = a.partial_sums && a.width_out > 1;
    const ConvTile::Fn* const half = wide || a.partial_sums ? nullptr : tiles_of_half(lanes);
    const Block block{wide       ? kWideTiles.of
                      : in_parts ? kPartsTiles.of[taken - 1].of
                      : half     ? half
                                 : kTiles.of[taken - 1].of,
                      wide ? kWideRows : most_rows(half ? kHalfRows : kTileRows[taken - 1], stride),
                      taken,
                      panels - panel - taken,
                      input_channel,
                      group * a.channels_out + first,
                      weights + panel * a.panel_stride};
    conv_rows(a, runs, block, lanes);
    panel += taken;
  }
}

/// Input rows of a few output rows, with zeros at both ends, so that all pixels of a row read the same taps.
struct PaddedRows {
  static constexpr std::size_t kMostFloats = 8192, kMostSources = 64, kMostTaps = 256;
  alignas(64) float values[kMostFloats];
  const float* sources[kMostSources];
  const float* taps[kMostTaps];
};

/// Pixels that the taps of an output row reach.
inline std::size_t reached_width(const ConvArgs& a) {
  return (a.width_out - 1) * a.stride_w + (a.kernel_w - 1) * a.dilation_w + 1;
}

/// Narrow rows whose borders, at few pixels each, take as many tiles as all the rest. For all output channels alike: a
/// border that is multiplied instead of skipped may turn -0 into 0.
inline bool pads_rows(const ConvArgs& a, const Runs& runs) {
  if (runs.count < 2 || a.groups > 1 || a.kernel_h > PaddedRows::kMostSources) return false;
  if (a.kernel_h * reached_width(a) * a.channels_in > PaddedRows::kMostFloats) return false;
  constexpr std::size_t most = kTileRows[0];
  std::size_t tiles = 0;
  for (std::size_t i = 0; i < runs.count; ++i) tiles += ceil_div(runs.of[i].pixels, most);
  return tiles >= 2 * ceil_div(a.width_out, most);
}

inline void pad_row(const ConvArgs& a, const float* row, float* to) {
  const std::size_t width = reached_width(a), left = a.pad_left < width ? a.pad_left : width;
  const std::size_t inside = a.width_in < width - left ? a.width_in : width - left;
  clear_floats(to, left * a.channels_in);
  to += left * a.channels_in;
  if (a.in_pixel_stride == static_cast<std::ptrdiff_t>(a.channels_in)) {
    copy_floats(row, inside * a.channels_in, to);
  } else {
    for (std::size_t x = 0; x < inside; ++x)
      copy_floats(row + static_cast<std::ptrdiff_t>(x) * a.in_pixel_stride, a.channels_in, to + x * a.channels_in);
  }
  clear_floats(to + inside * a.channels_in, (width - left - inside) * a.channels_in);
}

/// Copies the rows that output rows from `row` on read, as many as there is room for, and returns where they end.
inline std::size_t pad_rows(const ConvArgs& a, std::size_t row, PaddedRows& padded) {
  const std::size_t floats = reached_width(a) * a.channels_in;
  const std::size_t room = PaddedRows::kMostFloats / floats;
  const std::size_t most = room < PaddedRows::kMostSources ? room : PaddedRows::kMostSources;
  std::size_t copied = 0;
  const float** tap = padded.taps;
  for (; row < a.rows && copied + a.kernel_h <= most && tap + a.kernel_h <= padded.taps + PaddedRows::kMostTaps;
       ++row) {
    for (std::size_t ky = 0; ky < a.kernel_h; ++ky) {
      const float* source = a.in_rows[row * a.kernel_h + ky];
      if (source == nullptr) {
        *tap++ = nullptr;
        continue;
      }
      std::size_t at = copied;
      while (at > 0 && padded.sources[at - 1] != source) --at;
      if (at == 0) {
        pad_row(a, source, padded.values + copied * floats);
        padded.sources[copied++] = source;
        at = copied;
      }
      *tap++ = padded.values + (at - 1) * floats;
    }
  }
  return row;
}

inline void conv_padded(const ConvArgs& a) {
  PaddedRows padded;
  ConvArgs part = a;
  part.in_rows = padded.taps;
  part.width_in = reached_width(a);
  part.pad_left = 0;
  part.in_pixel_stride = static_cast<std::ptrdiff_t>(a.channels_in);
  for (std::size_t row = 0; row < a.rows;) {
    const std::size_t until = pad_rows(a, row, padded);
    part.rows = until - row;
    part.out_rows = a.out_rows + row;
    if (a.residual_rows != nullptr) part.residual_rows = a.residual_rows + row;
    Runs runs;
    find_runs(part, 0, runs);
    conv_group(part, runs, 0, 0, a.weights);
    row = until;
  }
}

inline void conv(const ConvArgs& a) noexcept {
  const std::size_t group_floats =
      packed_floats(Encoding::f32, a.kernel_h * a.kernel_w * a.channels_in, a.channels_out);
  Runs runs;
  for (std::size_t x = 0; x < a.width_out;) {
    const std::size_t from = x;
    x = find_runs(a, x, runs);
    if (from == 0 && x == a.width_out && pads_rows(a, runs)) return conv_padded(a);
    const float* weights = a.weights;
    for (std::size_t group = 0; group < a.groups; ++group, weights += group_floats)
      conv_group(a, runs, group, group * a.channels_in, weights);
  }
}

}  // namespace
}  // namespace colonnade::kernels::gemm
