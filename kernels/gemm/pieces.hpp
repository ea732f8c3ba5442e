// SPDX-License-Identifier: Apache-2.0
// Products of float32 by AMX, which multiplies bf16. A float32 is the sum of three bf16 pieces, exactly: its upper 8
// significant bits, the next 8, the last 8. Of the nine products of two floats' pieces the six largest are summed in
// float32; those left out are below 2^-21.9 of the product, and of either sign, since weights are cut to the nearest
// (Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial
// Intelligence Datatype For Higher-Precision Computations", 2019). Infinities become NaN, subnormal pieces zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/simd.hpp"
#include "kernels/gemm/gemm.hpp"

#if defined(__AVX512F__)

namespace colonnade::kernels {
namespace {

using gemm::kPieces;
inline constexpr std::size_t kTileSide = 16;  // rows of a tile register, and floats of its row
inline constexpr std::size_t kTileProducts = gemm::kPiecesStep;
inline constexpr std::size_t kTerms = 6;  // products of pieces in a step
inline constexpr std::size_t kTileFloats = kTileSide * kTileSide;
inline constexpr std::size_t kStepFloats = kPieces * kTileFloats;  // of the pieces of one operand's tile

/// The tile registers: sums in 0 to 3, tiles of pixels in 4 and 5, of weights in 6 and 7.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

/// Holds the tile registers, for tiles of `rows` pixels.
class TileRegisters {
 public:
  explicit TileRegisters(std::size_t rows) {
    TileConfig config;
    for (std::size_t i = 0; i < 8; ++i) {
      config.row_bytes[i] = kTileSide * sizeof(float);
      config.rows[i] = static_cast<std::uint8_t>(i < 6 ? rows : kTileSide);
    }
    asm volatile("ldtilecfg %0" : : "m"(config));
  }
  ~TileRegisters() { asm volatile("tilerelease"); }
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
};

/// Rows of a tile lie `stride` bytes apart; 0: all are the same.
template <int Register>
[[gnu::always_inline]] inline void load_tile(const float* p, std::ptrdiff_t stride = kTileSide * sizeof(float)) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(p), "r"(stride), "i"(Register) : "memory");
}

template <int Register>
[[gnu::always_inline]] inline void store_tile(float* p, std::ptrdiff_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(p), "r"(stride), "i"(Register) : "memory");
}

template <int Register>
[[gnu::always_inline]] inline void clear_tile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(Register));
}

template <int Sum, int Pixels, int Weights>
[[gnu::always_inline]] inline void multiply_tiles() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sum), "i"(Pixels), "i"(Weights));
}

/// Writes the pieces of 32 floats as a row of three tiles: low[i] and high[i] share a word.
[[gnu::always_inline]] inline void store_pieces(Vec low, Vec high, float* to) {
  const __m512i upper = _mm512_set1_epi32(static_cast<std::int32_t>(0xffff0000u));
  __m512 a = low.v, b = high.v;
#pragma GCC unroll 3
  for (std::size_t piece = 0; piece < kPieces; ++piece) {
    const __m512i bits_a = _mm512_castps_si512(a), bits_b = _mm512_castps_si512(b);
    // The upper half of b's words, the upper half of a's words below: (b & upper) | (a >> 16).
    const __m512i pair = _mm512_ternarylogic_epi32(bits_b, upper, _mm512_srli_epi32(bits_a, 16), 0xEA);
    _mm512_store_si512(to + piece * kTileFloats, pair);
    if (piece + 1 == kPieces) break;
    a = _mm512_sub_ps(a, _mm512_castsi512_ps(_mm512_and_si512(bits_a, upper)));
    b = _mm512_sub_ps(b, _mm512_castsi512_ps(_mm512_and_si512(bits_b, upper)));
  }
}

/// Floats that become pieces: `count` times 32, low[0..15] and high[0..15] of those that the masks leave, from there on
/// `step` floats further each time, written `to_step` floats further.
struct SplitRun {
  const float* low = nullptr;
  const float* high = nullptr;
  std::ptrdiff_t step = 0;
  float* to = nullptr;
  std::ptrdiff_t to_step = 0;
  std::size_t count = 0;
  Lanes low_lanes = 0;
  Lanes high_lanes = 0;
};

/// Cuts the runs of a Source into pieces, a few at a time: matrix units leave the vector units free meanwhile.
/// Source::next(run) gives the next run, false: there is none.
template <class Source>
class Splitter {
 public:
  explicit Splitter(const Source& source) : source_(source) {}

  [[gnu::always_inline]] void work(std::size_t units) {
    for (; units > 0; --units) {
      if (run_.count == 0 && !source_.next(run_)) return;
      const Vec low = {_mm512_maskz_loadu_ps(run_.low_lanes, run_.low)};
      const Vec high = {_mm512_maskz_loadu_ps(run_.high_lanes, run_.high)};
      store_pieces(low, high, run_.to);
      run_.low += run_.step;
      run_.high += run_.step;
      run_.to += run_.to_step;
      --run_.count;
    }
  }
  void finish() {
    while (run_.count > 0 || source_.next(run_)) work(run_.count);
  }

 private:
  Source source_;
  SplitRun run_;
};

/// Sums of Rows tiles of pixels and Panels tiles of weights, `steps` steps: the pieces of tile i start at pixels + i *
/// pixel_tile, a step's kStepFloats after the one before. At most four tiles of sums. `meanwhile` is called kTerms
/// times a step.
template <int Rows, int Panels>
struct PieceSums {
  static_assert(Rows * Panels <= 4 && Panels <= 2);

  /// Starts from floats in memory, rows `stride` bytes apart.
  template <int I = 0>
  [[gnu::always_inline]] static void load_sums(const float* const from[], std::ptrdiff_t stride) {
    if constexpr (I < Rows * Panels) {
      load_tile<I>(from[I], stride);
      load_sums<I + 1>(from, stride);
    }
  }
  template <int I = 0>
  [[gnu::always_inline]] static void clear_sums() {
    if constexpr (I < Rows * Panels) {
      clear_tile<I>();
      clear_sums<I + 1>();
    }
  }
  template <int I = 0>
  [[gnu::always_inline]] static void store_sums(float* const to[], std::ptrdiff_t stride = kTileSide * sizeof(float)) {
    if constexpr (I < Rows * Panels) {
      store_tile<I>(to[I], stride);
      store_sums<I + 1>(to, stride);
    }
  }

  template <class Meanwhile>
  [[gnu::always_inline]] static void multiply(const float* pixels, std::size_t pixel_tile, const float* weights,
                                              std::size_t weight_tile, std::size_t steps, Meanwhile meanwhile) {
    for (; steps > 0; --steps, pixels += kStepFloats, weights += kStepFloats) {
      // One operand's piece changes at a time, so that the other one's stays in its register.
      term<2, 0, true, true>(pixels, pixel_tile, weights, weight_tile);
      meanwhile();
      term<1, 0, true, false>(pixels, pixel_tile, weights, weight_tile);
      meanwhile();
      term<1, 1, false, true>(pixels, pixel_tile, weights, weight_tile);
      meanwhile();
      term<0, 1, true, false>(pixels, pixel_tile, weights, weight_tile);
      meanwhile();
      term<0, 2, false, true>(pixels, pixel_tile, weights, weight_tile);
      meanwhile();
      term<0, 0, false, true>(pixels, pixel_tile, weights, weight_tile);
      meanwhile();
    }
  }

 private:
  /// Adds piece P of the pixels times piece W of the weights. Up to two tiles a side have registers of their own.
  template <int P, int W, bool kNewPixels, bool kNewWeights>
  [[gnu::always_inline]] static void term(const float* pixels, std::size_t pixel_tile, const float* weights,
                                          std::size_t weight_tile) {
    const float* p = pixels + P * kTileFloats;
    const float* w = weights + W * kTileFloats;
    if constexpr (kNewPixels || Rows > 2) load_tile<4>(p);
    if constexpr (kNewWeights) load_tile<6>(w);
    multiply_tiles<0, 4, 6>();
    if constexpr (Panels > 1 && kNewWeights) load_tile<7>(w + weight_tile);
    if constexpr (Panels > 1) multiply_tiles<1, 4, 7>();
    if constexpr (Rows > 1 && (kNewPixels || Rows > 2)) load_tile<5>(p + pixel_tile);
    if constexpr (Rows > 1) multiply_tiles<Panels, 5, 6>();
    if constexpr (Rows > 1 && Panels > 1) multiply_tiles<Panels + 1, 5, 7>();
    if constexpr (Rows > 2) {
      load_tile<4>(p + 2 * pixel_tile);
      multiply_tiles<2, 4, 6>();
    }
    if constexpr (Rows > 3) {
      load_tile<5>(p + 3 * pixel_tile);
      multiply_tiles<3, 5, 6>();
    }
  }
};

}  // namespace
}  // namespace colonnade::kernels

#endif
