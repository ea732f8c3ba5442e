// SPDX-License-Identifier: Apache-2.0
// The register tile: a few pixels times some panels of output channels.
#pragma once

#include <utility>

#include "kernels/byte_product/four_steps.hpp"
#include "kernels/byte_product/outputs.hpp"
#include "kernels/byte_product/pixels.hpp"

namespace colonnade::kernels::byte_product {
namespace {

#if defined(COLONNADE_ASAN) || defined(COLONNADE_TSAN)
#define COLONNADE_SMALL_TILES 1
#endif

// COLONNADE_BYTE_TILE: what kernels' names call the tile. kTileRows[panels - 1]: most pixels of a tile over that many
// panels. kWide*: the tile for very few pixels, which is bound by reading weights. Sanitized builds have small tiles.
#if defined(__AVX512F__) && defined(COLONNADE_SMALL_TILES)
#define COLONNADE_BYTE_TILE "6x64"
inline constexpr std::size_t kTileRows[] = {4, 3, 2, 2};
inline constexpr std::size_t kWidePanels = 5;
inline constexpr std::size_t kWideRows = 1;
#elif defined(__AVX512F__)
#define COLONNADE_BYTE_TILE "6x64"
inline constexpr std::size_t kTileRows[] = {14, 12, 8, 6};
inline constexpr std::size_t kWidePanels = 8;
inline constexpr std::size_t kWideRows = 2;
#elif defined(__AVX2__) && defined(COLONNADE_SMALL_TILES)
#define COLONNADE_BYTE_TILE "3x16"
inline constexpr std::size_t kTileRows[] = {3};
inline constexpr std::size_t kWidePanels = 2;
inline constexpr std::size_t kWideRows = 1;
#elif defined(__AVX2__)
#define COLONNADE_BYTE_TILE "6x16"
inline constexpr std::size_t kTileRows[] = {6};
inline constexpr std::size_t kWidePanels = 4;
inline constexpr std::size_t kWideRows = 1;
#else
#define COLONNADE_BYTE_TILE "2x16"
inline constexpr std::size_t kTileRows[] = {2};
inline constexpr std::size_t kWidePanels = 2;
inline constexpr std::size_t kWideRows = 1;
#endif
#undef COLONNADE_SMALL_TILES
inline constexpr std::size_t kTilePanels = sizeof kTileRows / sizeof kTileRows[0];
inline constexpr std::size_t kMostTileRows = kTileRows[0];
static_assert(kWidePanels * kPanel <= kMostLanes && kStep * sizeof(Channel) == kStepOfPixel);

/// What of a row a sum is over: so many parts of so many channels, `apart` from each other. The rest fills steps.
struct Parts {
  std::size_t count;
  std::size_t channels;
  std::size_t apart;
};

/// One tile. The first pixel's taps lie `offset` bytes from where each of the rows begins, `steps` of each row; pixels
/// lie `stride` bytes apart, panels `panel_stride`; `lanes` of each out[] are written. `next`: weights that are fetched
/// meanwhile, `next_step` bytes further each step.
struct Tile {
  const char* const* rows;
  std::size_t row_count;
  std::ptrdiff_t offset;
  std::ptrdiff_t stride;
  std::size_t steps;
  Parts parts;
  const std::int8_t* weights;
  std::size_t panel_stride;
  const std::int8_t* next;
  std::ptrdiff_t next_step;
  const Scales* scales;
  const Rescale* rescale;
  std::size_t lanes;
  std::uint8_t* out[kMostTileRows];
};

/// R pixels times V vectors of output channels.
template <std::size_t R, std::size_t V>
struct Sums {
  IntVec at[R][V];
};

[[gnu::always_inline]] inline const std::int8_t* weights_at(const std::int8_t* weights, std::size_t panel_stride,
                                                            std::size_t v) {
  return weights + v / kPanelVectors * panel_stride + v % kPanelVectors * (kStepBytes / kPanelVectors);
}

/// The first of the products of one row of taps in fours of steps, and how many that were.
template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline std::size_t multiply_fours(Sums<R, V>& sums, const Tile& tile, const char* pixels,
                                                         const std::int8_t*& weights, const std::int8_t*& next) {
  constexpr std::ptrdiff_t kSteps = kFourSteps, kLine = 64;
  const bool share_a_line = kSteps * tile.next_step <= kLine;
  const std::size_t fours = tile.steps / kFourSteps;
  for (std::size_t i = 0; i < fours; ++i) {
    __builtin_prefetch(next, 0, 2);
    if (!share_a_line) {
#pragma GCC unroll 4
      for (std::ptrdiff_t step = 1; step < kSteps; ++step) __builtin_prefetch(next + step * tile.next_step, 0, 2);
    }
    next += kSteps * tile.next_step;
    four_steps(sums.at, pixels, tile.stride, weights);
    pixels += kFourSteps * kStep * sizeof(Channel);
    weights += kFourSteps * kStepBytes;
  }
  return fours * kFourSteps;
}

/// Adds the products of one row of taps.
template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void multiply(Sums<R, V>& sums, const Tile& tile, const char* row,
                                            const std::int8_t*& weights, const std::int8_t*& next) {
  const char* first = row + tile.offset;
  std::size_t done = 0;
  if constexpr (kHasFourSteps<R, V>) {
    done = multiply_fours(sums, tile, first, weights, next);
    first += done * kStep * sizeof(Channel);
  }
  Pixels<R> pixels(first, tile.stride);
  for (std::size_t step = tile.steps - done; step > 0; --step) {
    __builtin_prefetch(next, 0, 2);
    next += tile.next_step;
    if constexpr (V > R) {
      decltype(channels(nullptr)) x[R];
#pragma GCC unroll 16
      for (std::size_t r = 0; r < R; ++r) x[r] = channels(pixels.at(r));
#pragma GCC unroll 16
      for (std::size_t v = 0; v < V; ++v) {
        const auto w = step_weights(weights_at(weights, tile.panel_stride, v));
#pragma GCC unroll 16
        for (std::size_t r = 0; r < R; ++r) add_products(sums.at[r][v], x[r], w);
      }
    } else {
      decltype(step_weights(nullptr)) w[V];
#pragma GCC unroll 16
      for (std::size_t v = 0; v < V; ++v) w[v] = step_weights(weights_at(weights, tile.panel_stride, v));
#pragma GCC unroll 32
      for (std::size_t r = 0; r < R; ++r) {
        const auto x = channels(pixels.at(r));
#pragma GCC unroll 16
        for (std::size_t v = 0; v < V; ++v) add_products(sums.at[r][v], x, w[v]);
      }
    }
    weights += kStepBytes;
    pixels.advance();
  }
}

/// Bytes of V vectors from a lane on.
template <std::size_t V>
[[gnu::always_inline]] inline void store_group(const Tile& tile, std::size_t row, std::size_t lane, bool whole,
                                               const ByteVec& bytes) {
  std::uint8_t* const out = tile.out[row] + lane;
  if (whole) return store_vectors<V>(out, bytes);
  if constexpr (kStoresSomeBytes) {
    const std::size_t left = tile.lanes - lane;
    store_first(out, bytes, left < kByteLanes ? left : kByteLanes);
  }
}

/// Outputs of sums in scratch, `width` a pixel, a multiple of kByteLanes.
[[gnu::noinline]] inline void finish_scratch(const Tile& tile, std::size_t rows, const std::int32_t* sums,
                                             std::size_t width) {
  const Bytes bytes(*tile.rescale);
  for (std::size_t r = 0; r < rows; ++r, sums += width)
    write_pixel(bytes, *tile.rescale, *tile.scales, tile.lanes, sums, tile.out[r]);
}

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void finish(const Sums<R, V>& sums, const Tile& tile) {
  const bool whole = tile.lanes == V * IntVec::kLanes;
  if (makes_bytes(*tile.rescale) && (whole || kStoresSomeBytes)) {
    const Bytes bytes(*tile.rescale);
    constexpr std::size_t kGroups = V / kByteVectors, kLast = V % kByteVectors;
#pragma GCC unroll 32
    for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (std::size_t g = 0; g < kGroups; ++g)
        store_group<kByteVectors>(
            tile, r, g * kByteLanes, whole,
            bytes_of<kByteVectors>(bytes, sums.at[r] + g * kByteVectors, *tile.scales, g * kByteVectors));
      if constexpr (kLast > 0)
        store_group<kLast>(
            tile, r, kGroups * kByteLanes, whole,
            bytes_of<kLast>(bytes, sums.at[r] + kGroups * kByteVectors, *tile.scales, kGroups * kByteVectors));
    }
    return;
  }
  constexpr std::size_t kWidth = (V * IntVec::kLanes + kByteLanes - 1) / kByteLanes * kByteLanes;
  alignas(64) std::int32_t scratch[R * kWidth];
#pragma GCC unroll 32
  for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v)
      std::memcpy(scratch + r * kWidth + v * IntVec::kLanes, &sums.at[r][v], sizeof(IntVec));
    for (std::size_t lane = V * IntVec::kLanes; lane < kWidth; ++lane) scratch[r * kWidth + lane] = 0;
  }
  finish_scratch(tile, R, scratch, kWidth);
}

/// Adds to the sums of a tile what its outputs' weights are more than those packed, times the sum of a pixel's inputs.
template <std::size_t R, std::size_t V>
[[gnu::noinline]] void tilt_sums(Sums<R, V>& sums, const Tile& tile) {
  std::ptrdiff_t offset = tile.offset;
  for (std::size_t r = 0; r < R; ++r, offset += tile.stride) {
    std::int32_t inputs = 0;
    for (std::size_t i = 0; i < tile.row_count; ++i) {
      const auto* part = reinterpret_cast<const Channel*>(tile.rows[i] + offset);
      for (std::size_t k = 0; k < tile.parts.count; ++k, part += tile.parts.apart)
        inputs += sum_of(part, tile.parts.channels);
    }
    for (std::size_t v = 0; v < V; ++v)
      sums.at[r][v] = add_multiple(sums.at[r][v], load_ints(tile.scales->tilt + v * IntVec::kLanes), inputs);
  }
}

#if defined(COLONNADE_SPLITS)
/// Rests of a panel whose steps end at `behind`.
inline std::uint32_t rest_count(const std::int8_t* behind) {
  std::uint32_t count;
  std::memcpy(&count, behind, sizeof count);
  return count;
}

/// Adds the products of a panel's rests to the sums of a tile from vector `first` on. `steps`: of the panel.
template <std::size_t R, std::size_t V>
[[gnu::noinline]] void add_rests(Sums<R, V>& sums, const Tile& tile, std::size_t first, const std::int8_t* behind,
                                 std::size_t steps) {
  const std::uint32_t count = rest_count(behind);
  const std::int8_t* weights = behind + rest_steps_bytes(steps);
  for (std::uint32_t i = 1; i <= count; ++i, weights += kStepBytes) {
    std::uint32_t step;
    std::memcpy(&step, behind + i * sizeof step, sizeof step);
    const auto row_steps = static_cast<std::uint32_t>(tile.steps);
    const char* pixel = tile.rows[step / row_steps] + tile.offset + std::size_t{step % row_steps} * kStep;
    for (std::size_t r = 0; r < R; ++r, pixel += tile.stride) {
      const auto x = channels(pixel);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kPanelVectors; ++v)
        add_products(sums.at[r][first + v], x, step_weights(weights_at(weights, 0, v)));
    }
  }
}

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void add_all_rests(Sums<R, V>& sums, const Tile& tile, const std::int8_t* behind) {
  for (std::size_t v = 0; v < V; v += kPanelVectors, behind += tile.panel_stride) {
    if (rest_count(behind) == 0) [[likely]]
      continue;
    Sums<R, V> all = sums;
    add_rests(all, tile, v, behind, tile.steps * tile.row_count);
    sums = all;
  }
}
#else
template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void add_all_rests(Sums<R, V>&, const Tile&, const std::int8_t*) {}
#endif

using TileFn = void (*)(const Tile&) noexcept;

template <std::size_t R, std::size_t V>
void run_tile(const Tile& tile) noexcept {
  Sums<R, V> sums;
#pragma GCC unroll 16
  for (std::size_t v = 0; v < V; ++v) {
    const IntVec start = load_ints(tile.scales->start + v * IntVec::kLanes);
#pragma GCC unroll 32
    for (std::size_t r = 0; r < R; ++r) sums.at[r][v] = start;
  }
  const std::int8_t *weights = tile.weights, *next = tile.next;
  const char* const* row = tile.rows;
  do multiply(sums, tile, *row, weights, next);
  while (++row != tile.rows + tile.row_count);
  add_all_rests(sums, tile, weights);
  if (tile.scales->tilts) [[unlikely]] {
    Sums<R, V> tilted = sums;
    tilt_sums(tilted, tile);
    return finish(tilted, tile);
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

struct TileTables {
  TileTable of[kTilePanels];
};

template <std::size_t... Panel>
constexpr TileTables tile_tables(std::index_sequence<Panel...>) {
  return {{tile_table<Panel + 1>(std::make_index_sequence<kTileRows[Panel]>())...}};
}

/// For each number of panels, for each number of pixels.
inline constexpr auto kTiles = tile_tables(std::make_index_sequence<kTilePanels>());
inline constexpr auto kWideTiles = tile_table<kWidePanels>(std::make_index_sequence<kWideRows>());

}  // namespace
}  // namespace colonnade::kernels::byte_product
