// SPDX-License-Identifier: Apache-2.0
// The tile of a convolution in pairs of bf16 on matrix units: up to 32 pixels times two panels. Pairs of weights lie as
// AMX takes them, a row of words for each pair of terms, and rounded pixels do too. Terms that do not fill a tile are
// copied beside zeros.
#pragma once

#include "kernels/gemm/conv_tile.hpp"

#if defined(COLONNADE_UNITS)
#include "kernels/gemm/pieces.hpp"

namespace colonnade::kernels::gemm {
namespace {

/// Pixels of the two tiles that `rows` pixels are.
struct UnitRows {
  std::size_t upper;
  std::size_t lower;
};
constexpr UnitRows unit_rows(std::size_t rows) {
  const std::size_t upper = rows > kTileSide ? (rows + 1) / 2 : rows;
  return {upper, rows - upper};
}

/// Pixels that the thread's tile registers are for; 0: they are not held.
inline thread_local std::size_t held_rows = 0;

/// Gives the tile registers back.
class UnitRegisters {
 public:
  UnitRegisters() { held_rows = 0; }
  ~UnitRegisters() {
    if (held_rows != 0) asm volatile("tilerelease");
  }
  UnitRegisters(const UnitRegisters&) = delete;
  UnitRegisters& operator=(const UnitRegisters&) = delete;
};

/// Sums of the upper pixels in 0 and 1, of the lower ones in 2 and 3, pixels in 4 and 5, weights in 6 and 7.
inline void hold_registers(std::size_t rows) {
  if (held_rows == rows) return;
  const UnitRows of = unit_rows(rows);
  const std::size_t lower = of.lower == 0 ? 1 : of.lower;
  const std::size_t counts[8] = {of.upper, of.upper, lower, lower, of.upper, lower, kTileSide, kTileSide};
  TileConfig config;
  for (std::size_t i = 0; i < 8; ++i) {
    config.row_bytes[i] = kTileSide * sizeof(float);
    config.rows[i] = static_cast<std::uint8_t>(counts[i]);
  }
  asm volatile("ldtilecfg %0" : : "m"(config));
  held_rows = rows;
}

/// Adds the products of a tile's words: pixels `stride` bytes apart, weights of one panel and, `panel_stride` floats
/// on, of the next.
template <bool kLower, bool kTwo>
[[gnu::always_inline]] inline void multiply_words(const float* upper, const float* lower, std::ptrdiff_t stride,
                                                  const float* weights, std::size_t panel_stride) {
  load_tile<6>(weights);
  load_tile<4>(upper, stride);
  multiply_tiles<0, 4, 6>();
  if constexpr (kTwo) {
    load_tile<7>(weights + panel_stride);
    multiply_tiles<1, 4, 7>();
  }
  if constexpr (kLower) {
    load_tile<5>(lower, stride);
    multiply_tiles<2, 5, 6>();
    if constexpr (kTwo) multiply_tiles<3, 5, 7>();
  }
}

/// Words that do not fill a tile, of pixels and of weights, with zeros behind them.
struct Rest {
  alignas(64) float pixels[2 * kTileSide * kTileSide];
  alignas(64) float weights[2 * kTileSide * kTileSide];
};

inline void copy_rest(const float* from, std::ptrdiff_t stride, std::size_t rows, std::size_t words, float* to) {
  const Lanes lanes = first_bits(words);
  for (std::size_t r = 0; r < rows; ++r, from += stride, to += kTileSide)
    store(to, {_mm512_maskz_loadu_ps(lanes, from)});
}

inline void copy_weights(const float* from, std::size_t words, float* to) {
  for (std::size_t i = 0; i < kTileSide; ++i)
    store(to + i * kTileSide, i < words ? load(from + i * kTileSide) : zero());
}

template <bool kLower, bool kTwo>
inline void multiply_piece(const Tile& tile, std::size_t rows, const float* input, const float* weights,
                           std::size_t words) {
  const std::ptrdiff_t stride = tile.input_stride, bytes = stride * static_cast<std::ptrdiff_t>(sizeof(float));
  const auto upper = static_cast<std::ptrdiff_t>(unit_rows(rows).upper);
  const float* next = tile.next;
  for (; words >= kTileSide; words -= kTileSide, input += kTileSide, weights += kTileSide * kPanelFloats) {
    if (tile.next_step != 0)
      for (std::size_t i = 0; i < kTileSide; ++i, next += tile.next_step) __builtin_prefetch(next, 0, 2);
    multiply_words<kLower, kTwo>(input, input + upper * stride, bytes, weights, tile.panel_stride);
  }
  if (words == 0) return;
  Rest rest;
  copy_rest(input, stride, rows, words, rest.pixels);
  copy_weights(weights, words, rest.weights);
  if constexpr (kTwo) copy_weights(weights + tile.panel_stride, words, rest.weights + kTileSide * kTileSide);
  multiply_words<kLower, kTwo>(rest.pixels, rest.pixels + upper * static_cast<std::ptrdiff_t>(kTileSide),
                               kTileSide * sizeof(float), rest.weights, kTileSide * kTileSide);
}

template <bool kLower, bool kTwo>
inline void multiply_all(const Tile& tile, std::size_t rows) {
  const float* row_weights = tile.weights;
  for (std::size_t ky = 0; ky < tile.taps_h; ++ky, row_weights += tile.weights_row) {
    if (tile.input_rows[ky] == nullptr) continue;
    const float* input = tile.input_rows[ky] + tile.input_offset;
    const float* weights = row_weights;
    for (std::size_t done = 0; done < tile.row_floats;) {
      const std::size_t left = tile.row_floats - done, count = left < tile.piece_floats ? left : tile.piece_floats;
      multiply_piece<kLower, kTwo>(tile, rows, input, weights, count);
      done += count;
      weights += count * kPanelFloats;
      input += static_cast<std::ptrdiff_t>(count) + tile.piece_gap;
    }
  }
}

/// Sums from `from`, rows `stride` bytes apart, panels and lower pixels where their rows say; back to `to` likewise.
template <bool kLower, bool kTwo>
inline void sum_tile(const Tile& tile, std::size_t rows, const float* from, std::ptrdiff_t stride) {
  constexpr std::ptrdiff_t kRow = (kTwo ? 2 : 1) * static_cast<std::ptrdiff_t>(kTileSide);
  constexpr std::ptrdiff_t kBytes = kRow * static_cast<std::ptrdiff_t>(sizeof(float));
  const auto upper = static_cast<std::ptrdiff_t>(unit_rows(rows).upper);
  const float* const below = stride == 0 ? from : from + upper * kRow;
  load_tile<0>(from, stride);
  if constexpr (kTwo) load_tile<1>(from + kTileSide, stride);
  if constexpr (kLower) load_tile<2>(below, stride);
  if constexpr (kLower && kTwo) load_tile<3>(below + kTileSide, stride);
  multiply_all<kLower, kTwo>(tile, rows);
  float* const to = tile.scratch;
  store_tile<0>(to, kBytes);
  if constexpr (kTwo) store_tile<1>(to + kTileSide, kBytes);
  if constexpr (kLower) store_tile<2>(to + upper * kRow, kBytes);
  if constexpr (kLower && kTwo) store_tile<3>(to + upper * kRow + kTileSide, kBytes);
}

/// A tile of `rows` pixels and one or two panels.
[[gnu::noinline]] inline void run_units(const Tile& tile, std::size_t rows, std::size_t panels) {
  const std::size_t width = panels * kPanelFloats;
  alignas(64) float bias[2 * kPanelFloats];
  for (std::size_t v = 0; v < panels; ++v)
    store(bias + v * kPanelFloats, tile.bias == nullptr ? zero() : load_some(tile.bias, v * kPanelFloats, tile.lanes));
  if (tile.accumulate)
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t v = 0; v < panels; ++v)
        store(tile.scratch + r * width + v * kPanelFloats,
              load_some(tile.out + static_cast<std::ptrdiff_t>(r) * tile.out_stride, v * kPanelFloats, tile.lanes));
  const float* const from = tile.accumulate ? tile.scratch : bias;
  const std::ptrdiff_t stride = tile.accumulate ? static_cast<std::ptrdiff_t>(width * sizeof(float)) : 0;
  hold_registers(rows);
  const bool lower = rows > kTileSide;
  if (lower && panels == 2)
    sum_tile<true, true>(tile, rows, from, stride);
  else if (lower)
    sum_tile<true, false>(tile, rows, from, stride);
  else if (panels == 2)
    sum_tile<false, true>(tile, rows, from, stride);
  else
    sum_tile<false, false>(tile, rows, from, stride);
  finish_scratch(tile, rows, width);
}

struct UnitTile {
  using Fn = ConvTile::Fn;

  template <std::size_t R, std::size_t V>
  static void run(const Tile& tile) noexcept {
    run_units(tile, R, V);
  }
};

// Partial sums would be of no use: a step is sixteen pairs of terms.
inline constexpr auto kTiles = tile_tables<UnitTile>(std::make_index_sequence<kTilePanels>());
inline constexpr auto kPartsTiles = kTiles;
inline constexpr auto kWideTiles = tile_table<UnitTile, kWidePanels>(std::make_index_sequence<kWideRows>());

}  // namespace
}  // namespace colonnade::kernels::gemm
#endif
