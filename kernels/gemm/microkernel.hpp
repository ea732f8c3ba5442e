// SPDX-License-Identifier: Apache-2.0
// The register tile of every contraction: a few pixels times one to eight panels of output channels. As simd.hpp,
// everything lives in an anonymous namespace and is compiled once per tier.
#pragma once

#include <cstddef>
#include <utility>

#include "kernels/base/simd.hpp"
#include "kernels/base/unary.hpp"
#include "kernels/base/vector_math.hpp"

namespace colonnade::kernels {
namespace {

inline constexpr std::size_t kPanelFloats = 16;
inline constexpr std::size_t kPanelVectors = kPanelFloats / Vec::kLanes;

// kTileRows[panels - 1]: most pixels of a tile over that many panels, such that sums, weights and one broadcast value
// fit the registers. kWide*: the tile for very few pixels, which is bound by reading weights.
#if defined(__AVX512F__)
inline constexpr std::size_t kTileRows[] = {14, 14, 8, 6};
inline constexpr std::size_t kWidePanels = 8;
inline constexpr std::size_t kWideRows = 2;
#elif defined(__AVX2__)
inline constexpr std::size_t kTileRows[] = {6};
inline constexpr std::size_t kWidePanels = 4;
inline constexpr std::size_t kWideRows = 1;
#elif defined(__aarch64__)
inline constexpr std::size_t kTileRows[] = {6};
inline constexpr std::size_t kWidePanels = 4;
inline constexpr std::size_t kWideRows = 1;
#else
inline constexpr std::size_t kTileRows[] = {2};
inline constexpr std::size_t kWidePanels = 2;
inline constexpr std::size_t kWideRows = 1;
#endif
inline constexpr std::size_t kTilePanels = sizeof kTileRows / sizeof kTileRows[0];
inline constexpr std::size_t kMostTileRows = kTileRows[0];

/// One tile of output pixels, and the walk through the operands that sums it. Strides and counts are in floats.
///
/// Each of `taps_h` input rows (null: skipped) contributes `row_floats` products a pixel, read from `input_offset` on in
/// pieces of `piece_floats` with `piece_gap` floats between them. The first `skip_first` of them leave out the tile's
/// first pixel, the last `skip_last` its last one. `weights` points to the first of them in the tile's first panel.
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
  const float* bias;
  const float* residual;
  float* out;
  std::ptrdiff_t out_stride;
  std::ptrdiff_t residual_stride;
  std::size_t lanes;
  bool accumulate;
  const Epilogue* epilogue;
};

using TileFn = void (*)(const Tile&) noexcept;

inline Vec load_some(const float* p, std::size_t first, std::size_t lanes) {
  if (first >= lanes) return zero();
  return lanes - first >= Vec::kLanes ? load(p + first) : load_first(p + first, lanes - first);
}

inline void store_some(float* p, Vec x, std::size_t first, std::size_t lanes) {
  if (first >= lanes) return;
  if (lanes - first >= Vec::kLanes) return store(p + first, x);
  store_first(p + first, x, lanes - first);
}

/// Residual and activation of one tile from its sums in memory, `tile.lanes` of `width` floats a pixel.
[[gnu::noinline]] inline void finish_buffer(const Tile& tile, const float* sums, std::size_t rows, std::size_t width) {
  const std::size_t lanes = tile.lanes;
  const bool after = tile.epilogue->residual_after;
  const float* slope = tile.epilogue->activation.slope;
  with_unary(tile.epilogue->activation, [&](const auto& function) {
    for (std::size_t r = 0; r < rows; ++r) {
      float* out = tile.out + static_cast<std::ptrdiff_t>(r) * tile.out_stride;
      const float* residual =
          tile.residual == nullptr ? nullptr : tile.residual + static_cast<std::ptrdiff_t>(r) * tile.residual_stride;
      for (std::size_t i = 0; i < lanes; i += Vec::kLanes) {
        Vec x = load(sums + r * width + i);
        const Vec add = residual == nullptr ? zero() : load_some(residual, i, lanes);
        if (residual != nullptr && !after) x = x + add;
        x = lanes - i >= Vec::kLanes ? call(function, x, slope + i) : call_first(function, x, slope + i, lanes - i);
        if (residual != nullptr && after) x = x + add;
        store_some(out, x, i, lanes);
      }
    }
  });
}

/// R pixels times V vectors of output channels.
template <std::size_t R, std::size_t V>
struct Sums {
  Vec at[R][V];
};

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

/// Adds `count` products to the pixels in [First, Last).
template <std::size_t First, std::size_t Last, std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void multiply(Sums<R, V>& sums, const float* input, std::ptrdiff_t stride,
                                            const float* weights, std::size_t panel_stride, std::size_t count) {
  const float* const end = weights + count * kPanelFloats;
  for (; weights != end; weights += kPanelFloats, ++input) {
    Vec w[V];
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) {
      w[v] = load(weights + v / kPanelVectors * panel_stride + v % kPanelVectors * Vec::kLanes);
    }
#pragma GCC unroll 32
    for (std::size_t r = First; r < Last; ++r) {
      const Vec x = broadcast(input[static_cast<std::ptrdiff_t>(r) * stride]);
#pragma GCC unroll 16
      for (std::size_t v = 0; v < V; ++v) sums.at[r][v] = fma(x, w[v], sums.at[r][v]);
    }
  }
}

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void multiply_row(Sums<R, V>& sums, const Tile& tile, const float* input,
                                                const float* weights) {
  const std::size_t whole_until = tile.row_floats - tile.skip_last;
  for (std::size_t done = 0; done < tile.row_floats;) {
    const std::size_t zone = done < tile.skip_first ? tile.skip_first : done < whole_until ? whole_until : tile.row_floats;
    const std::size_t count = zone - done < tile.piece_floats ? zone - done : tile.piece_floats;
    if constexpr (R == 1) {
      multiply<0, R>(sums, input, tile.input_stride, weights, tile.panel_stride, count);
    } else {
      if (done < tile.skip_first) {
        multiply<1, R>(sums, input, tile.input_stride, weights, tile.panel_stride, count);
      } else if (done < whole_until) {
        multiply<0, R>(sums, input, tile.input_stride, weights, tile.panel_stride, count);
      } else {
        multiply<0, R - 1>(sums, input, tile.input_stride, weights, tile.panel_stride, count);
      }
    }
    done += count;
    weights += count * kPanelFloats;
    input += static_cast<std::ptrdiff_t>(count) + tile.piece_gap;
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
[[gnu::always_inline]] inline void store_sums(const Sums<R, V>& sums, float* p, std::ptrdiff_t stride) {
#pragma GCC unroll 32
  for (std::size_t r = 0; r < R; ++r, p += stride) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) store(p + v * Vec::kLanes, sums.at[r][v]);
  }
}

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void store_partial(const Sums<R, V>& sums, const Tile& tile) {
  float* p = tile.out;
#pragma GCC unroll 32
  for (std::size_t r = 0; r < R; ++r, p += tile.out_stride) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) {
      if (v + kPanelVectors < V) store(p + v * Vec::kLanes, sums.at[r][v]);
      else store_some(p, sums.at[r][v], v * Vec::kLanes, tile.lanes);
    }
  }
}

inline bool stays_in_registers(const Tile& tile, bool whole) {
  if (tile.residual != nullptr && !whole) return false;
  switch (tile.epilogue->activation.kind) {
    case Unary::identity:
    case Unary::relu:
    case Unary::clip: return true;
    default: return false;
  }
}

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void finish(Sums<R, V>& sums, const Tile& tile) {
  const bool whole = tile.lanes == V * Vec::kLanes;
  if (!stays_in_registers(tile, whole)) {
    alignas(64) float buffer[R * V * Vec::kLanes];
    store_sums(sums, buffer, V * Vec::kLanes);
    finish_buffer(tile, buffer, R, V * Vec::kLanes);
    return;
  }
  const UnaryOp& op = tile.epilogue->activation;
  if (tile.residual != nullptr && !tile.epilogue->residual_after) add_residual(sums, tile);
  if (op.kind == Unary::relu) map(sums, Relu(op));
  else if (op.kind == Unary::clip) map(sums, Clip(op));
  if (tile.residual != nullptr && tile.epilogue->residual_after) add_residual(sums, tile);
  if (whole) store_sums(sums, tile.out, tile.out_stride);
  else store_partial(sums, tile);
}

template <std::size_t R, std::size_t V>
void run_tile(const Tile& tile) noexcept {
  Sums<R, V> sums;
  start(sums, tile);
  const float* weights = tile.weights;
  for (std::size_t ky = 0; ky < tile.taps_h; ++ky, weights += tile.weights_row) {
    const float* row = tile.input_rows[ky];
    if (row != nullptr) multiply_row(sums, tile, row + tile.input_offset, weights);
  }
  finish(sums, tile);
}

struct TileTable {
  TileFn of[kMostTileRows];
};

template <std::size_t Panels, std::size_t... Row>
constexpr TileTable tile_table(std::index_sequence<Row...>) {
  return {{&run_tile<Row + 1, Panels * kPanelVectors>...}};
}

template <std::size_t... Panel>
constexpr auto tile_tables(std::index_sequence<Panel...>) {
  struct Tables {
    TileTable of[sizeof...(Panel)];
  };
  return Tables{{tile_table<Panel + 1>(std::make_index_sequence<kTileRows[Panel]>())...}};
}

inline constexpr auto kTiles = tile_tables(std::make_index_sequence<kTilePanels>());
inline constexpr TileTable kWideTiles = tile_table<kWidePanels>(std::make_index_sequence<kWideRows>());

}  // namespace
}  // namespace colonnade::kernels
