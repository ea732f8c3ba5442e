// SPDX-License-Identifier: Apache-2.0
// The register tile of every contraction: a few pixels times one to eight panels of output channels. As simd.hpp,
// everything lives in an anonymous namespace and is compiled once per tier.
#pragma once

#include <cstddef>
#include <utility>

#include "kernels/base/simd.hpp"
#include "kernels/gemm/four_steps.hpp"

namespace colonnade::kernels {
namespace {

inline constexpr std::size_t kPanelFloats = 16;
inline constexpr std::size_t kPanelVectors = kPanelFloats / Vec::kLanes;

#if defined(COLONNADE_ASAN) || defined(COLONNADE_TSAN)
#define COLONNADE_SMALL_TILES 1
#endif

// COLONNADE_TILE: what kernels' names call the tile. kTileRows[panels - 1]: most pixels of a tile over that many
// panels, such that sums, weights and one broadcast value fit the registers. kWide*: the tile for very few pixels,
// which is bound by reading weights. kNarrowUnroll: steps that a loop over a single vector takes at once, since it
// is bound by loads. Sanitized builds have small tiles: each check is repeated for every value of an unrolled tile,
// and compiling the large ones takes minutes.
#if defined(COLONNADE_UNITS)  // matrix units, whose registers these are not
#define COLONNADE_TILE "32x32"
inline constexpr std::size_t kTileRows[] = {32, 32};
inline constexpr std::size_t kWidePanels = 2;
inline constexpr std::size_t kWideRows = 1;
inline constexpr std::size_t kNarrowUnroll = 1;
#elif defined(__AVX512F__) && defined(COLONNADE_SMALL_TILES)
#define COLONNADE_TILE "6x64"
inline constexpr std::size_t kTileRows[] = {4, 3, 2, 2};
inline constexpr std::size_t kWidePanels = 5;
inline constexpr std::size_t kWideRows = 1;
inline constexpr std::size_t kNarrowUnroll = 4;
#elif defined(__AVX512F__) && defined(__clang__)
#define COLONNADE_TILE "6x64"
inline constexpr std::size_t kTileRows[] = {12, 12, 8, 6};
inline constexpr std::size_t kWidePanels = 8;
inline constexpr std::size_t kWideRows = 2;
inline constexpr std::size_t kNarrowUnroll = 1;
#elif defined(__AVX512F__)
#define COLONNADE_TILE "6x64"
inline constexpr std::size_t kTileRows[] = {28, 14, 8, 6};
inline constexpr std::size_t kWidePanels = 8;
inline constexpr std::size_t kWideRows = 2;
inline constexpr std::size_t kNarrowUnroll = 4;
#elif defined(__AVX2__) && defined(COLONNADE_SMALL_TILES)
#define COLONNADE_TILE "3x16"
inline constexpr std::size_t kTileRows[] = {3};
inline constexpr std::size_t kWidePanels = 2;
inline constexpr std::size_t kWideRows = 1;
inline constexpr std::size_t kNarrowUnroll = 1;
#elif defined(__AVX2__)
#define COLONNADE_TILE "6x16"
inline constexpr std::size_t kTileRows[] = {6, 3};
inline constexpr std::size_t kWidePanels = 4;
inline constexpr std::size_t kWideRows = 1;
inline constexpr std::size_t kNarrowUnroll = 1;
#elif defined(__aarch64__)
#define COLONNADE_TILE "6x16"
inline constexpr std::size_t kTileRows[] = {6};
inline constexpr std::size_t kWidePanels = 4;
inline constexpr std::size_t kWideRows = 1;
inline constexpr std::size_t kNarrowUnroll = 1;
#else
#define COLONNADE_TILE "2x16"
inline constexpr std::size_t kTileRows[] = {2};
inline constexpr std::size_t kWidePanels = 2;
inline constexpr std::size_t kWideRows = 1;
inline constexpr std::size_t kNarrowUnroll = 1;
#endif
#undef COLONNADE_SMALL_TILES
/// Few registers: sixteen hold the sums of a tile and the fewer of its operands, pixels or weights, beside one of the
/// others.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr bool kFewRegisters = false;
#else
inline constexpr bool kFewRegisters = true;
#endif
inline constexpr std::size_t kTilePanels = sizeof kTileRows / sizeof kTileRows[0];
inline constexpr std::size_t kMostTileRows = kTileRows[0];

/// R pixels times V vectors of output channels.
template <std::size_t R, std::size_t V>
struct Sums {
  Vec at[R][V];
};

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void clear(Sums<R, V>& sums) {
#pragma GCC unroll 32
  for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) sums.at[r][v] = zero();
  }
}

inline void copy_floats(const float* from, std::size_t count, float* to) {
  std::size_t i = 0;
  for (; i + Vec::kLanes <= count; i += Vec::kLanes) store(to + i, load(from + i));
  if (i < count) store_first(to + i, load_first(from + i, count - i), count - i);
}

inline void clear_floats(float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + Vec::kLanes <= count; i += Vec::kLanes) store(to + i, zero());
  if (i < count) store_first(to + i, zero(), count - i);
}

/// Pixels of a tile, addressed by few registers: one for eight pixels and the odd multiples of the stride.
template <std::size_t R>
struct Pixels {
  static constexpr std::size_t kBases = (R + 7) / 8;
  const char* base[kBases];
  std::ptrdiff_t odd[4];

  [[gnu::always_inline]] Pixels(const float* input, std::ptrdiff_t stride) {
    const std::ptrdiff_t bytes = stride * static_cast<std::ptrdiff_t>(sizeof(float));
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kBases; ++i) {
      base[i] = reinterpret_cast<const char*>(input) + static_cast<std::ptrdiff_t>(8 * i) * bytes;
      hide(base[i]);
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      odd[i] = static_cast<std::ptrdiff_t>(2 * i + 1) * bytes;
      hide(odd[i]);
    }
  }
  [[gnu::always_inline]] const float* at(std::size_t r) const {
    const std::size_t i = r % 8;
    const char* p = base[r / 8];
    if (i != 0) p += i % 2 == 1 ? odd[i / 2] : i == 4 ? odd[0] * 4 : odd[i / 4] * 2;
    return reinterpret_cast<const float*>(p);
  }
  /// Hides the multiples of the stride anew: else GCC keeps theirs, which an address can scale, in registers as well.
  [[gnu::always_inline]] void advance(std::size_t count) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kBases; ++i) base[i] += count * sizeof(float);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) hide(odd[i]);
  }
};

/// Where a step's vector v of weights lies.
[[gnu::always_inline]] inline const float* weights_at(const float* weights, std::size_t panel_stride, std::size_t v) {
  return weights + v / kPanelVectors * panel_stride + v % kPanelVectors * Vec::kLanes;
}

/// Adds the product of x and w; in files that define COLONNADE_PAIRS a lane of both is a pair of bf16, and both
/// products are added.
[[gnu::always_inline]] inline void add_product(Vec& sum, Vec x, Vec w) {
#if defined(COLONNADE_PAIRS)
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum.v) : "v"(w.v), "v"(x.v));
#else
  sum = fma(x, w, sum);
#endif
}

template <std::size_t First, std::size_t Last, std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void multiply_step(Sums<R, V>& sums, const Pixels<R>& pixels, std::size_t offset,
                                                 const float* weights, std::size_t panel_stride) {
  if constexpr (kFewRegisters && V > R) {
    Vec x[R];
#pragma GCC unroll 16
    for (std::size_t r = First; r < Last; ++r) x[r] = broadcast(pixels.at(r)[offset]);
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) {
      const Vec w = load(weights_at(weights, panel_stride, v));
#pragma GCC unroll 16
      for (std::size_t r = First; r < Last; ++r) add_product(sums.at[r][v], x[r], w);
    }
    return;
  }
  Vec w[V];
#pragma GCC unroll 16
  for (std::size_t v = 0; v < V; ++v) w[v] = load(weights_at(weights, panel_stride, v));
#pragma GCC unroll 32
  for (std::size_t r = First; r < Last; ++r) {
    const Vec x = broadcast(pixels.at(r)[offset]);
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) add_product(sums.at[r][v], x, w[v]);
  }
}

/// What a tile brings into the caches while it multiplies: R * count floats from `pixels` on, since pixels that are
/// read in step escape the hardware's prefetcher, and what is read after the tile, `next_step` floats further each
/// step, in one stream or in two, `apart` floats from each other: memory answers two sooner.
struct Ahead {
  const float* pixels;
  const float* next;
  std::ptrdiff_t next_step;
  std::ptrdiff_t apart = 0;
};

/// Steps between a tile's reading of weights and their arrival, where it asks for them.
inline constexpr std::size_t kWeightsAhead = 24;

/// A tile over a single vector is bound by its loads, but of one pixel by memory.
template <std::size_t R, std::size_t V>
inline constexpr bool kFetchesNext = V > 1 || R == 1;

/// Every line of the pixels that `Steps` steps from `step` on are to bring.
template <std::size_t Steps, std::size_t R>
[[gnu::always_inline]] inline void prefetch_pixels(const Ahead& ahead, std::size_t step) {
  constexpr std::size_t kLine = 16, kFloats = Steps * R, kLines = (kFloats + kLine - 1) / kLine;
#pragma GCC unroll 16
  for (std::size_t line = 0; line < kLines; ++line)
    __builtin_prefetch(ahead.pixels + step * R + line * (kFloats / kLines));
}

/// What is read after the tile.
template <std::size_t kStreams>
[[gnu::always_inline]] inline void prefetch_next(const Ahead& ahead, std::ptrdiff_t step = 0) {
  const float* next = ahead.next + step * ahead.next_step;
  __builtin_prefetch(next, 0, 2);
  if constexpr (kStreams > 1) __builtin_prefetch(next + ahead.apart, 0, 2);
}

template <std::size_t V>
[[gnu::always_inline]] inline void prefetch_weights(const float* weights, std::size_t panel_stride) {
#pragma GCC unroll 8
  for (std::size_t v = 0; v < V; v += kPanelVectors) __builtin_prefetch(weights_at(weights, panel_stride, v));
}

/// The first of `count` products in fours, and how many that were.
template <std::size_t kStreams, bool kFetchesWeights, std::size_t R, std::size_t V>
[[gnu::always_inline]] inline std::size_t multiply_fours(Sums<R, V>& sums, const float* input, std::ptrdiff_t stride,
                                                         const float* weights, std::size_t panel_stride,
                                                         std::size_t count, Ahead& ahead) {
  constexpr std::ptrdiff_t kSteps = kFourSteps, kLine = 16;
  const std::ptrdiff_t bytes = stride * static_cast<std::ptrdiff_t>(sizeof(float));
  const bool share_a_line = kSteps * ahead.next_step <= kLine;
  const float *x = input, *w = weights;
  for (const float* end = input + count / kFourSteps * kFourSteps; x != end; x += kFourSteps) {
    if constexpr (kFetchesWeights) {
#pragma GCC unroll 4
      for (std::size_t i = 0; i < kFourSteps; ++i)
        prefetch_weights<V>(w + (i + kWeightsAhead) * kPanelFloats, panel_stride);
    }
    if constexpr (kStreams > 0) {
      prefetch_pixels<kFourSteps, R>(ahead, 0);
      ahead.pixels += kFourSteps * R;
      prefetch_next<kStreams>(ahead);
      if (!share_a_line) {
#pragma GCC unroll 4
        for (std::ptrdiff_t i = 1; i < kSteps; ++i) prefetch_next<kStreams>(ahead, i);
      }
      ahead.next += kSteps * ahead.next_step;
      hide(ahead.next);
    }
    four_steps(sums.at, x, bytes, w, static_cast<std::ptrdiff_t>(panel_stride * sizeof(float)));
    w += kFourSteps * kPanelFloats;
  }
  return static_cast<std::size_t>(x - input);
}

/// Adds `count` products to the pixels in [First, Last), and fetches what is ahead in kStreams streams, or the tile's
/// own weights.
template <std::size_t First, std::size_t Last, std::size_t kStreams = 0, bool kFetchesWeights = false, std::size_t R,
          std::size_t V>
[[gnu::always_inline]] inline void multiply(Sums<R, V>& sums, const float* input, std::ptrdiff_t stride,
                                            const float* weights, std::size_t panel_stride, std::size_t count,
                                            Ahead ahead = {}) {
  constexpr std::size_t kUnroll = V == 1 ? kNarrowUnroll : 1;
  if constexpr (kHasFourSteps<R, V> && First == 0 && Last == R) {
    const std::size_t done =
        multiply_fours<kStreams, kFetchesWeights>(sums, input, stride, weights, panel_stride, count, ahead);
    input += done;
    weights += done * kPanelFloats;
    count -= done;
  }
  Pixels<R> pixels(input, stride);
  for (; count >= kUnroll; count -= kUnroll) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kUnroll; ++i) {
      if constexpr (kFetchesWeights) prefetch_weights<V>(weights + (i + kWeightsAhead) * kPanelFloats, panel_stride);
      if constexpr (kStreams > 0) prefetch_pixels<1, R>(ahead, i);
      if constexpr (kStreams > 0 && kFetchesNext<R, V>) {
        prefetch_next<kStreams>(ahead);
        ahead.next += ahead.next_step;
        hide(ahead.next);
      }
      multiply_step<First, Last>(sums, pixels, i, weights + i * kPanelFloats, panel_stride);
    }
    if constexpr (kStreams > 0) ahead.pixels += kUnroll * R;
    weights += kUnroll * kPanelFloats;
    pixels.advance(kUnroll);
  }
  if constexpr (kUnroll > 1) {
#pragma GCC unroll 1
    for (; count > 0; --count, weights += kPanelFloats, pixels.advance(1)) {
      multiply_step<First, Last>(sums, pixels, 0, weights, panel_stride);
    }
  }
}

/// Adds to every pixel the products of every `Parts`-th term of `count`: one partial sum.
template <std::size_t Parts, std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void multiply_part(Sums<R, V>& sums, const float* input, std::ptrdiff_t stride,
                                                 const float* weights, std::size_t panel_stride, std::size_t count) {
  constexpr std::size_t kStep = Parts * kPanelFloats;
  Pixels<R> pixels(input, stride);
#pragma GCC unroll 1
  for (std::size_t k = 0; k < count; k += Parts, weights += kStep, pixels.advance(Parts)) {
    prefetch_weights<V>(weights + kWeightsAhead * kPanelFloats, panel_stride);
    multiply_step<0, R>(sums, pixels, 0, weights, panel_stride);
  }
}

/// The same for one pixel, in Parts partial sums: without them each FMA waits for the one before.
template <std::size_t Parts, std::size_t V>
[[gnu::always_inline]] inline void multiply_parts(Sums<1, V>& sums, const float* input, const float* weights,
                                                  std::size_t panel_stride, std::size_t count) {
  static_assert(Parts == 4);
  Vec parts[Parts][V];
#pragma GCC unroll 16
  for (std::size_t v = 0; v < V; ++v) {
    parts[0][v] = sums.at[0][v];
#pragma GCC unroll 4
    for (std::size_t i = 1; i < Parts; ++i) parts[i][v] = zero();
  }
  const auto step = [&](std::size_t i) __attribute__((always_inline)) {
    const Vec x = broadcast(input[i]);
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v)
      add_product(parts[i][v], x, load(weights_at(weights + i * kPanelFloats, panel_stride, v)));
  };
  for (; count >= Parts; count -= Parts, input += Parts, weights += Parts * kPanelFloats) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Parts; ++i) step(i);
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i + 1 < Parts; ++i)
    if (i < count) step(i);
#pragma GCC unroll 16
  for (std::size_t v = 0; v < V; ++v) sums.at[0][v] = (parts[0][v] + parts[1][v]) + (parts[2][v] + parts[3][v]);
}

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void store_sums(const Sums<R, V>& sums, float* p, std::ptrdiff_t stride) {
#pragma GCC unroll 32
  for (std::size_t r = 0; r < R; ++r, p += stride) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) store(p + v * Vec::kLanes, sums.at[r][v]);
  }
}

/// The functions of a kind of tile for 1..kMostTileRows pixels. Kind::run<R, V> is the tile of R pixels and V vectors.
template <class Kind>
struct TileTable {
  typename Kind::Fn of[kMostTileRows];
};

template <class Kind, std::size_t Panels, std::size_t... Row>
constexpr TileTable<Kind> tile_table(std::index_sequence<Row...>) {
  return {{&Kind::template run<Row + 1, Panels * kPanelVectors>...}};
}

/// One table for each number of panels, 1..kTilePanels.
template <class Kind>
struct TileTables {
  TileTable<Kind> of[kTilePanels];
};

template <class Kind, std::size_t... Panel>
constexpr TileTables<Kind> tile_tables(std::index_sequence<Panel...>) {
  return {{tile_table<Kind, Panel + 1>(std::make_index_sequence<kTileRows[Panel]>())...}};
}

/// Most pixels of a tile whose pixels lie `stride` floats apart: multiples of a page share the sets of a first-level
/// cache.
inline std::size_t most_rows(std::size_t limit, std::ptrdiff_t stride) {
#if defined(COLONNADE_UNITS)
  constexpr std::size_t kAliasing = kMostTileRows;  // a tile reads its rows whole
#else
  constexpr std::size_t kAliasing = 8;
#endif
  return stride % 1024 == 0 && stride != 0 && limit > kAliasing ? kAliasing : limit;
}

}  // namespace
}  // namespace colonnade::kernels
