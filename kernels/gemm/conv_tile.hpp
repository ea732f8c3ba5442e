// SPDX-License-Identifier: Apache-2.0
// The register tile of a convolution: start from bias or output, walk the taps, residual and activation, store.
#pragma once

#include "kernels/base/unary.hpp"
#include "kernels/base/vector_math.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/gemm/microkernel.hpp"

namespace colonnade::kernels::gemm {
namespace {

/// One tile of output pixels, and the walk through the operands that sums it. Strides and counts are in floats.
///
/// Each of `taps_h` input rows (null: skipped) contributes `row_floats` products a pixel, read from `input_offset` on
/// in pieces of `piece_floats` with `piece_gap` floats between them. The first `skip_first` of them leave out the
/// tile's first pixel, the last `skip_last` its last one. `weights` points to the first of them in the tile's first
/// panel. A matrix product fetches what lies from `next` on, `next_step` floats further each step.
struct Tile {
  const float* const* input_rows;
  std::size_t taps_h;
  std::ptrdiff_t input_offset;
  std::ptrdiff_t input_stride;
  std::size_t row_floats;
  std::size_t piece_floats;
  std::ptrdiff_t piece_gap;
  std::size_t skip_first;
  std::size_t skip_last;
  const float* weights;
  std::size_t weights_row;
  std::size_t panel_stride;
  const float* next;
  std::ptrdiff_t next_step;
  const float* bias;
  const float* residual;
  float* out;
  std::ptrdiff_t out_stride;
  std::ptrdiff_t residual_stride;
  std::size_t lanes;
  bool accumulate;
  bool partial_sums;
  const Epilogue* epilogue;
  float* scratch;
};

/// Floats of scratch that the largest tile needs.
#if defined(COLONNADE_UNITS)
inline constexpr std::size_t kScratchFloats = 1024;
#else
inline constexpr std::size_t kScratchFloats = 512;
#endif

inline Vec load_some(const float* p, std::size_t first, std::size_t lanes) {
  if (first >= lanes) return zero();
  return lanes - first >= Vec::kLanes ? load(p + first) : load_first(p + first, lanes - first);
}

inline void store_some(float* p, Vec x, std::size_t first, std::size_t lanes) {
  if (first >= lanes) return;
  if (lanes - first >= Vec::kLanes) return store(p + first, x);
  store_first(p + first, x, lanes - first);
}

/// One tap row in one piece: a matrix product.
inline bool is_product(const Tile& tile) {
  return tile.taps_h == 1 && tile.row_floats <= tile.piece_floats && (tile.skip_first | tile.skip_last) == 0 &&
         tile.input_rows[0] != nullptr;
}

inline const float* slope_at(const UnaryOp& op, std::size_t channel) {
  return op.slope == nullptr ? nullptr : op.slope + channel;
}

/// Residual and activation of one tile from its sums in scratch, `tile.lanes` of `width` floats a pixel. Flat: as many
/// tiles as call it, GCC would else call its loops.
[[gnu::noinline, gnu::flatten]] inline void finish_scratch(const Tile& tile, std::size_t rows, std::size_t width) {
  const UnaryOp& op = tile.epilogue->activation;
  const std::size_t whole = tile.lanes / Vec::kLanes * Vec::kLanes;
  const std::size_t rest = tile.lanes - whole;
  const bool before = tile.residual != nullptr && !tile.epilogue->residual_after;
  const bool after = tile.residual != nullptr && tile.epilogue->residual_after;
  with_unary(op, [&](const auto& function) {
    for (std::size_t r = 0; r < rows; ++r) {
      const float* sums = tile.scratch + r * width;
      const float* residual =
          tile.residual + static_cast<std::ptrdiff_t>(r) * (before || after ? tile.residual_stride : 0);
      float* out = tile.out + static_cast<std::ptrdiff_t>(r) * tile.out_stride;
      for (std::size_t i = 0; i < whole; i += Vec::kLanes) {
        Vec x = load(sums + i);
        if (before) x = x + load(residual + i);
        x = call(function, x, slope_at(op, i));
        if (after) x = x + load(residual + i);
        store(out + i, x);
      }
      if (rest == 0) continue;
      Vec x = load(sums + whole);
      if (before) x = x + load_first(residual + whole, rest);
      x = call_first(function, x, slope_at(op, whole), rest);
      if (after) x = x + load_first(residual + whole, rest);
      store_first(out + whole, x, rest);
    }
  });
}

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void start(Sums<R, V>& sums, const Tile& tile) {
  const bool whole = tile.lanes == V * Vec::kLanes;
#pragma GCC unroll 16
  for (std::size_t v = 0; v < V; ++v) {
    Vec bias = zero();
    if (tile.bias != nullptr) {
      bias = whole ? load(tile.bias + v * Vec::kLanes) : load_some(tile.bias, v * Vec::kLanes, tile.lanes);
    }
#pragma GCC unroll 32
    for (std::size_t r = 0; r < R; ++r) sums.at[r][v] = bias;
  }
  if (!tile.accumulate) return;
  const float* p = tile.out;
#pragma GCC unroll 32
  for (std::size_t r = 0; r < R; ++r, p += tile.out_stride) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) {
      sums.at[r][v] = whole ? load(p + v * Vec::kLanes) : load_some(p, v * Vec::kLanes, tile.lanes);
    }
  }
}

/// Tiles of few pixels come back to the weights soon, which lie in the second-level cache, and ask for them.
template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void multiply_row(Sums<R, V>& sums, const Tile& tile, const float* input,
                                                const float* weights) {
  const std::size_t whole_until = tile.row_floats - tile.skip_last;
  for (std::size_t done = 0; done < tile.row_floats;) {
    const std::size_t zone = done < tile.skip_first ? tile.skip_first
                             : done < whole_until   ? whole_until
                                                    : tile.row_floats;
    const std::size_t count = zone - done < tile.piece_floats ? zone - done : tile.piece_floats;
    if constexpr (R == 1) {
      multiply<0, R, 0, kFewRegisters>(sums, input, tile.input_stride, weights, tile.panel_stride, count);
    } else {
      if (done < tile.skip_first) {
        multiply<1, R, 0, kFewRegisters>(sums, input, tile.input_stride, weights, tile.panel_stride, count);
      } else if (done < whole_until) {
        multiply<0, R, 0, kFewRegisters>(sums, input, tile.input_stride, weights, tile.panel_stride, count);
      } else {
        multiply<0, R - 1, 0, kFewRegisters>(sums, input, tile.input_stride, weights, tile.panel_stride, count);
      }
    }
    done += count;
    weights += count * kPanelFloats;
    input += static_cast<std::ptrdiff_t>(count) + tile.piece_gap;
  }
}

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void add_sums(Sums<R, V>& sums, const float* others) {
#pragma GCC unroll 32
  for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) sums.at[r][v] = sums.at[r][v] + load(others + (r * V + v) * Vec::kLanes);
  }
}

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void add_residual(Sums<R, V>& sums, const Tile& tile) {
  const float* p = tile.residual;
#pragma GCC unroll 32
  for (std::size_t r = 0; r < R; ++r, p += tile.residual_stride) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) sums.at[r][v] = sums.at[r][v] + load(p + v * Vec::kLanes);
  }
}

template <std::size_t R, std::size_t V, class Function>
[[gnu::always_inline]] inline void map(Sums<R, V>& sums, Function function) {
#pragma GCC unroll 32
  for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) sums.at[r][v] = function(sums.at[r][v]);
  }
}

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void store_partial(const Sums<R, V>& sums, const Tile& tile) {
  float* p = tile.out;
#pragma GCC unroll 32
  for (std::size_t r = 0; r < R; ++r, p += tile.out_stride) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) {
      if (v + kPanelVectors < V)
        store(p + v * Vec::kLanes, sums.at[r][v]);
      else
        store_some(p, sums.at[r][v], v * Vec::kLanes, tile.lanes);
    }
  }
}

inline bool stays_in_registers(const Tile& tile, bool whole) {
  if (tile.residual != nullptr && !whole) return false;
  const Unary kind = tile.epilogue->activation.kind;
  return kind == Unary::identity || kind == Unary::relu || kind == Unary::clip || kind == Unary::hard_swish;
}

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void finish(Sums<R, V>& sums, const Tile& tile) {
  const bool whole = tile.lanes == V * Vec::kLanes;
  if (!stays_in_registers(tile, whole)) {
    static_assert(R * V * Vec::kLanes <= kScratchFloats);
    store_sums(sums, tile.scratch, V * Vec::kLanes);
    finish_scratch(tile, R, V * Vec::kLanes);
    return;
  }
  const UnaryOp& op = tile.epilogue->activation;
  if (tile.residual != nullptr && !tile.epilogue->residual_after) add_residual(sums, tile);
  if (op.kind == Unary::relu)
    map(sums, Relu(op));
  else if (op.kind == Unary::clip)
    map(sums, Clip(op));
  else if (op.kind == Unary::hard_swish)
    map(sums, HardSwish(op));
  if (tile.residual != nullptr && tile.epilogue->residual_after) add_residual(sums, tile);
  if (whole)
    store_sums(sums, tile.out, tile.out_stride);
  else
    store_partial(sums, tile);
}

/// Brings the pixels of the tap row after `ky`, or of the first one for the tile to the right, into the first-level
/// cache: a tile changes rows too often for the hardware's prefetcher. Not where other channels lie between those that
/// it reads, as in groups.
template <std::size_t R>
[[gnu::always_inline]] inline void prefetch_row_after(const Tile& tile, std::size_t ky) {
  if (tile.piece_gap != 0) return;
  constexpr std::ptrdiff_t kLine = 16;
  const std::ptrdiff_t width = static_cast<std::ptrdiff_t>(R) * tile.input_stride;
  const bool is_last = ky + 1 == tile.taps_h;
  const float* row = tile.input_rows[is_last ? 0 : ky + 1];
  if (row == nullptr) return;
  row += tile.input_offset + (is_last ? width : 0);
  for (std::ptrdiff_t i = 0; i < width; i += kLine) __builtin_prefetch(row + i);
}

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void multiply_taps(Sums<R, V>& sums, const Tile& tile) {
  const float* weights = tile.weights;
  for (std::size_t ky = 0; ky < tile.taps_h; ++ky, weights += tile.weights_row) {
    const float* row = tile.input_rows[ky];
    if constexpr (V == 1) prefetch_row_after<R>(tile, ky);
    if (row != nullptr) multiply_row(sums, tile, row + tile.input_offset, weights);
  }
}

/// Asks for the lines that a tile will write: the rows of a wide result lie far apart, and its stores would wait for
/// memory. Where registers are few, tiles are small; what many lines at once do to large ones was not measured.
template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void prefetch_out(const Tile& tile) {
  if constexpr (kFewRegisters) {
    const float* p = tile.out;
#pragma GCC unroll 16
    for (std::size_t r = 0; r < R; ++r, p += tile.out_stride) {
#pragma GCC unroll 16
      for (std::size_t v = 0; v < V; v += kPanelVectors) __builtin_prefetch(p + v * Vec::kLanes, 1);
    }
  }
}

struct ConvTile {
  using Fn = void (*)(const Tile&) noexcept;

  template <std::size_t R, std::size_t V>
  static void run(const Tile& tile) noexcept {
    Sums<R, V> sums;
    start(sums, tile);
    if constexpr (R == 1 && V <= kTilePanels * kPanelVectors) {
      if (tile.partial_sums) {
        multiply_parts<kPartialSums>(sums, tile.input_rows[0] + tile.input_offset, tile.weights, tile.panel_stride,
                                     tile.row_floats);
        return finish(sums, tile);
      }
    }
    if (is_product(tile)) {
      const float* input = tile.input_rows[0] + tile.input_offset;
      prefetch_out<R, V>(tile);
      const bool follow = tile.input_stride == static_cast<std::ptrdiff_t>(tile.row_floats);
      multiply<0, R, 1>(sums, input, tile.input_stride, tile.weights, tile.panel_stride, tile.row_floats,
                        {follow ? input + R * tile.row_floats : input, tile.next, tile.next_step});
    } else {
      multiply_taps(sums, tile);
    }
    finish(sums, tile);
  }
};

/// Partial sums of several pixels, one after the other: the bits of a pixel alone.
struct PartsTile {
  using Fn = ConvTile::Fn;

  template <std::size_t R, std::size_t V>
  static void run(const Tile& tile) noexcept {
    if constexpr (R == 1) return ConvTile::run<R, V>(tile);
    static_assert(kPartialSums == 4);
    alignas(64) float done[2][R * V * Vec::kLanes];
    const float* input = tile.input_rows[0] + tile.input_offset;
    Sums<R, V> sums;
    start(sums, tile);
#pragma GCC unroll 1
    for (std::size_t i = 0; i < kPartialSums; ++i) {
      if (i > 0) clear(sums);
      if (i < tile.row_floats)
        multiply_part<kPartialSums>(sums, input + i, tile.input_stride, tile.weights + i * kPanelFloats,
                                    tile.panel_stride, tile.row_floats - i);
      if (i % 2 == 1) add_sums(sums, done[i / 2]);
      if (i + 1 < kPartialSums) store_sums(sums, done[i / 2], static_cast<std::ptrdiff_t>(V * Vec::kLanes));
    }
    add_sums(sums, done[0]);
    finish(sums, tile);
  }
};

#if !defined(COLONNADE_UNITS)  // else pair_units.hpp has them
inline constexpr auto kPartsTiles = tile_tables<PartsTile>(std::make_index_sequence<kTilePanels>());
inline constexpr auto kTiles = tile_tables<ConvTile>(std::make_index_sequence<kTilePanels>());
inline constexpr auto kWideTiles = tile_table<ConvTile, kWidePanels>(std::make_index_sequence<kWideRows>());
#endif

/// Tiles of one vector for outputs that are half a panel or less, as the last of 24 or 40 channels are.
#if defined(__AVX2__) && !defined(__AVX512F__)
inline constexpr std::size_t kHalfRows = 2 * kTileRows[0];
struct HalfTiles {
  ConvTile::Fn of[kHalfRows];
};
template <std::size_t... Row>
constexpr HalfTiles half_tiles(std::index_sequence<Row...>) {
  return {{&ConvTile::run<Row + 1, 1>...}};
}
inline constexpr HalfTiles kHalfTiles = half_tiles(std::make_index_sequence<kHalfRows>());
inline const ConvTile::Fn* tiles_of_half(std::size_t lanes) { return lanes <= Vec::kLanes ? kHalfTiles.of : nullptr; }
#else
inline constexpr std::size_t kHalfRows = 0;
inline const ConvTile::Fn* tiles_of_half(std::size_t) { return nullptr; }
#endif

}  // namespace
}  // namespace colonnade::kernels::gemm
