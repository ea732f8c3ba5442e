// SPDX-License-Identifier: Apache-2.0
// The products between the transforms: tiles by weights, matrix by matrix, pairs of 16 bits at a time. Everything lives
// in an anonymous namespace: each tier's files have their own copy.
#pragma once

#include <utility>

#define COLONNADE_WIDE_WEIGHTS 1
#include "kernels/byte_product/four_steps.hpp"
#include "kernels/byte_product/outputs.hpp"
#include "kernels/byte_product/pixels.hpp"
#include "kernels/byte_winograd/layout.hpp"

namespace colonnade::kernels::byte_winograd {
namespace {

using byte_product::IntVec;

// kTileRows[panels - 1]: most tiles of a register tile over that many panels. Sanitized builds have small ones.
#if defined(COLONNADE_ASAN) || defined(COLONNADE_TSAN)
#define COLONNADE_SMALL_TILES 1
#endif
#if defined(__AVX512F__) && defined(COLONNADE_SMALL_TILES)
inline constexpr std::size_t kTileRows[] = {4, 3, 2, 2};
#elif defined(__AVX512F__)
inline constexpr std::size_t kTileRows[] = {14, 12, 8, 6};
#elif defined(__AVX2__) && defined(COLONNADE_SMALL_TILES)
inline constexpr std::size_t kTileRows[] = {3};
#elif defined(__AVX2__)
inline constexpr std::size_t kTileRows[] = {6};
#else
inline constexpr std::size_t kTileRows[] = {2};
#endif
#undef COLONNADE_SMALL_TILES
inline constexpr std::size_t kTilePanels = sizeof kTileRows / sizeof kTileRows[0];
inline constexpr std::size_t kPanelVectors = byte_product::kPanelVectors;
inline constexpr std::size_t kStepBytes = kPanel * 2 * sizeof(std::int16_t);

[[gnu::always_inline]] inline void store_ints(std::byte* p, const IntVec& x) {
#if defined(__AVX512F__)
  _mm512_storeu_si512(p, x.v);
#elif defined(__AVX2__)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.v);
#else
  std::memcpy(p, x.v, sizeof x.v);
#endif
}

#if defined(__AVX512F__) || defined(__AVX2__)
using Pair = IntVec;
[[gnu::always_inline]] inline Pair pair_of(const char* p) { return byte_product::channels(p); }
using PairWeights = IntVec;
[[gnu::always_inline]] inline PairWeights pair_weights(const std::byte* p) { return byte_product::load_ints(p); }
[[gnu::always_inline]] inline void add_pair(IntVec& sum, Pair x, PairWeights w) {
#if defined(__AVX512VNNI__)
  asm("vpdpwssd %2, %1, %0" : "+v"(sum.v) : "v"(x.v), "v"(w.v));
#elif defined(__AVXVNNI__)
  asm("%{vex%} vpdpwssd %2, %1, %0" : "+x"(sum.v) : "x"(x.v), "x"(w.v));
#elif defined(__AVX512F__)
  sum.v = _mm512_add_epi32(sum.v, _mm512_madd_epi16(x.v, w.v));
#else
  sum.v = _mm256_add_epi32(sum.v, _mm256_madd_epi16(x.v, w.v));
#endif
}
#else
struct Pair {
  std::int16_t of[2];
};
struct PairWeights {
  const std::byte* first;
};
inline Pair pair_of(const char* p) {
  Pair x;
  std::memcpy(x.of, p, sizeof x.of);
  return x;
}
inline PairWeights pair_weights(const std::byte* p) { return {p}; }
inline void add_pair(IntVec& sum, Pair x, PairWeights w) {
  std::int16_t weights[2 * IntVec::kLanes];
  std::memcpy(weights, w.first, sizeof weights);
  for (std::size_t lane = 0; lane < IntVec::kLanes; ++lane) {
    const std::int32_t products = x.of[0] * weights[2 * lane] + x.of[1] * weights[2 * lane + 1];
    sum.v[lane] =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(sum.v[lane]) + static_cast<std::uint32_t>(products));
  }
}
#endif

/// What a register tile brings into the second-level cache meanwhile: each step a line at `from`, and one that lies
/// `apart`; the next step's are `step` further. With a step of 0 nothing.
struct Ahead {
  const std::byte* from = nullptr;
  std::ptrdiff_t apart = 0;
  std::ptrdiff_t step = 0;
};

/// One register tile: rows of inputs `in_stride` bytes apart times panels `panel_stride` apart, `pairs` of channels.
struct Product {
  const std::byte* in;
  std::ptrdiff_t in_stride;
  const std::byte* weights;
  std::size_t panel_stride;
  std::size_t pairs;
  std::byte* out;
  std::size_t out_stride;
  Ahead ahead;
};

template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void multiply_step(IntVec (&sums)[R][V], const byte_product::Pixels<R>& in,
                                                 const std::byte* weights, std::size_t panel_stride) {
  PairWeights w[V];
#pragma GCC unroll 8
  for (std::size_t v = 0; v < V; ++v)
    w[v] = pair_weights(weights + v / kPanelVectors * panel_stride + v % kPanelVectors * (kStepBytes / kPanelVectors));
#pragma GCC unroll 16
  for (std::size_t r = 0; r < R; ++r) {
    const Pair x = pair_of(in.at(r));
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) add_pair(sums[r][v], x, w[v]);
  }
}

[[gnu::always_inline]] inline void fetch(const std::byte* p, std::ptrdiff_t apart) {
  __builtin_prefetch(p, 0, 2);
  __builtin_prefetch(p + apart, 0, 2);
}

template <std::size_t R, std::size_t V, bool kFetches>
void multiply(const Product& p) noexcept {
  IntVec sums[R][V];
#pragma GCC unroll 16
  for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) sums[r][v] = IntVec{};
  const auto* first = reinterpret_cast<const char*>(p.in);
  const std::byte *weights = p.weights, *ahead = p.ahead.from;
  std::size_t pairs = p.pairs;
  if constexpr (byte_product::kHasFourSteps<R, V>)
    for (; pairs >= kFourSteps; pairs -= kFourSteps) {
      if constexpr (kFetches)
        for (std::size_t step = 0; step < kFourSteps; ++step, ahead += p.ahead.step) fetch(ahead, p.ahead.apart);
      four_steps(sums, first, p.in_stride, weights);
      first += kFourSteps * byte_product::kStepOfPixel;
      weights += kFourSteps * kStepBytes;
    }
  for (byte_product::Pixels<R> in(first, p.in_stride); pairs > 0; --pairs, in.advance(), weights += kStepBytes) {
    if constexpr (kFetches) {
      fetch(ahead, p.ahead.apart);
      ahead += p.ahead.step;
    }
    multiply_step(sums, in, weights, p.panel_stride);
  }
  std::byte* out = p.out;
  const std::size_t stride = p.out_stride;
#pragma GCC unroll 16
  for (std::size_t r = 0; r < R; ++r, out += stride)
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) store_ints(out + v * sizeof(IntVec), sums[r][v]);
}

using MultiplyFn = void (*)(const Product&) noexcept;
struct MultiplyTable {
  MultiplyFn of[kTileRows[0]];
};
template <bool kFetches, std::size_t Panels, std::size_t... Row>
constexpr MultiplyTable multiply_table(std::index_sequence<Row...>) {
  return {{&multiply<Row + 1, Panels * kPanelVectors, kFetches>...}};
}
struct MultiplyTables {
  MultiplyTable of[kTilePanels];
};
template <bool kFetches, std::size_t... Panel>
constexpr MultiplyTables multiply_tables(std::index_sequence<Panel...>) {
  return {{multiply_table<kFetches, Panel + 1>(std::make_index_sequence<kTileRows[Panel]>())...}};
}
/// Whether they fetch, for each number of panels, for each number of tiles.
inline constexpr MultiplyTables kMultiply[] = {multiply_tables<false>(std::make_index_sequence<kTilePanels>()),
                                               multiply_tables<true>(std::make_index_sequence<kTilePanels>())};

/// What call `call` of a matrix fetches of the `panels` panels at `next`, two of them or a single one in two halves;
/// with a step of 0, nothing.
inline Ahead fetch_ahead(const Product& p, std::size_t call, const std::byte* next, std::size_t panels) {
  constexpr auto kStep = static_cast<std::ptrdiff_t>(kStepBytes);
  const std::size_t panel = 2 * call;
  if (panel >= panels) return {};
  next += panel * p.panel_stride;
  if (panel + 1 < panels) return {next, static_cast<std::ptrdiff_t>(p.panel_stride), kStep};
  return {next, static_cast<std::ptrdiff_t>(p.pairs / 2) * kStep, kStep / 2};
}

/// Products of `tiles` tiles with `panels` panels of a matrix, as many as a register tile takes. `next`: the panels
/// that are multiplied with after them, where those come from far; else null.
inline void multiply_panels(Product p, std::size_t tiles, std::size_t panels, const std::byte* next) {
  const std::size_t most = kTileRows[panels - 1], calls = (tiles + most - 1) / most;
  // Where calls are too few for all panels, so few tiles wait for weights in any case, and fetching is work.
  const bool fetches = next != nullptr && 2 * calls >= panels;
  for (std::size_t call = 0, left = tiles; call < calls; ++call) {
    const std::size_t rows = (left + calls - call - 1) / (calls - call);
    p.ahead = fetches ? fetch_ahead(p, call, next, panels) : Ahead{};
    kMultiply[p.ahead.step != 0 ? 1 : 0].of[panels - 1].of[rows - 1](p);
    p.in += static_cast<std::ptrdiff_t>(rows) * p.in_stride;
    p.out += rows * p.out_stride;
    left -= rows;
  }
}

/// Products of `tiles` tiles with `panels` panels, at most kBlockChannels wide. `p` is that of the first matrix.
/// `far`: weights come from beyond the second-level cache.
inline void multiply_matrices(const Product& p, std::size_t tiles, std::size_t panels, const Layout& layout,
                              std::size_t matrix_bytes, bool far) {
  for (std::size_t m = 0; m < kMatrices; ++m) {
    Product part = p;
    part.in += m * layout.inputs.plane;
    for (std::size_t panel = 0, taken = 0; panel < panels; panel += taken) {
      const std::size_t left = panels - panel;
      taken = left < kTilePanels ? left : kTilePanels;
      part.weights = p.weights + panel * p.panel_stride + m * matrix_bytes;
      part.out = p.out + m * layout.products.plane + panel * kPanel * sizeof(std::int32_t);
      const bool is_last = m + 1 == kMatrices;
      const std::byte* const next = is_last ? p.weights + panels * p.panel_stride : part.weights + matrix_bytes;
      multiply_panels(part, tiles, taken, far ? next : nullptr);
    }
  }
}

}  // namespace
}  // namespace colonnade::kernels::byte_winograd
