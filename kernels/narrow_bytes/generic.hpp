// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "kernels/narrow_bytes/rows.hpp"
#include "kernels/narrow_bytes/vector.hpp"

namespace colonnade::kernels::narrow_bytes {
namespace {

inline constexpr std::size_t kStep = narrow::kStep, kSteps = kChunk / kStep;
/// Of the numbers of a step.
template <Type kType>
inline constexpr std::size_t kStepBytes = kOutputs* kStep* narrow::bits_of(kType) / 8;

constexpr std::size_t steps_of(std::size_t terms) { return terms < kChunk ? terms / kStep : kSteps; }

/// Bytes of weights between what is read and what is asked for.
inline constexpr std::size_t kAhead = 4096;

/// Rows and vectors of outputs of a tile: its sums, numbers of each vector and q of a row fit the registers.
#if defined(__AVX512F__)
inline constexpr std::size_t kTileRows = 8;
#else
inline constexpr std::size_t kTileRows = 4;
#endif
/// One row has all outputs that fit, and reads weights in their order.
constexpr std::size_t tile_vectors(std::size_t rows) { return rows == 1 ? 4 : 2; }

/// R rows times a tile's outputs, a block of k.
template <Type kType, std::size_t R>
struct Tile {
  using Sums = narrow_bytes::Sums<kType>;
  static constexpr std::size_t kTileVectors = tile_vectors(R);

  const Format& f;
  std::size_t row_bytes;  ///< from one row's record to the next

  /// What a step of eight k adds; `words`: its numbers, `q`: that of the first row.
  [[gnu::always_inline]] void add_step(const std::byte* words, const std::byte* q,
                                       Sums (&sums)[R][kTileVectors]) const {
    add_half<false>(words, q, sums);
    add_half<true>(words, q + kStep / 2, sums);
  }
  /// One row meets a weight but once, and weights of eight bits sooner than memory brings them by itself.
  static constexpr bool kAsks = R == 1 && kType == Type::u8;
  /// What lies kAhead behind a tile's words: into the second-level cache, whose requests are more than those of the
  /// first.
  [[gnu::always_inline]] static void ask_for(const std::byte* words) {
#pragma GCC unroll 4
    for (std::size_t at = 0; at < kTileVectors * kLanes * sizeof(std::int32_t); at += 64)
      __builtin_prefetch(words + at + kAhead, 0, 2);
  }
  template <bool kSecond>
  [[gnu::always_inline]] void add_half(const std::byte* words, const std::byte* q,
                                       Sums (&sums)[R][kTileVectors]) const {
    if constexpr (kAsks) ask_for(words + (kSecond ? kOutputs * sizeof(std::int32_t) : 0));
    IntBatch numbers[kTileVectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kTileVectors; ++v)
      numbers[v] = numbers_of<kType, kSecond>(words + v * kLanes * sizeof(std::int32_t));
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) {
      const IntBatch four = four_of(q + r * row_bytes);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kTileVectors; ++v) sums[r][v].add(numbers[v], four);
    }
  }

  [[gnu::always_inline]] void add_chunk(const std::byte* words, const std::byte* q, std::size_t steps,
                                        Sums (&sums)[R][kTileVectors]) const {
    if (steps == kSteps) {
#pragma GCC unroll 4
      for (std::size_t s = 0; s < kSteps; ++s) add_step(words + s * kStepBytes<kType>, q + s * kStep, sums);
      return;
    }
#pragma GCC unroll 1
    for (std::size_t s = 0; s < steps; ++s) add_step(words + s * kStepBytes<kType>, q + s * kStep, sums);
  }

  /// What a block's parameters make of its sums of integers, added to those of the blocks before.
  [[gnu::always_inline]] void scale(const IntBatch (&totals)[R][kTileVectors], const float* parameters,
                                    const std::byte* rows, float* sums) const {
    const bool has_zero = f.has_zeros || f.zero != 0;
    if constexpr (kAsks) ask_for(reinterpret_cast<const std::byte*>(parameters));
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kTileVectors; ++v) {
      const Vec scale = load(parameters + v * kLanes);
      const Vec zero = f.has_zeros ? load(parameters + kOutputs + v * kLanes) : broadcast(f.zero);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < R; ++r) {
        const auto* of_row = reinterpret_cast<const float*>(rows + (r + 1) * row_bytes) - 2;
        Vec t{xsimd::to_float(totals[r][v])};
        if (has_zero) t = fnma(zero, broadcast(of_row[1]), t);
        float* const sum = sums + r * kOutputs + v * kLanes;
        store(sum, fma(scale * broadcast(of_row[0]), t, load(sum)));
      }
    }
  }

  [[gnu::always_inline]] void add_block(const std::byte* words, const float* parameters, const std::byte* rows,
                                        float* to) const {
    IntBatch totals[R][kTileVectors];
    std::size_t k = 0;
    do {
      Sums sums[R][kTileVectors];
      add_chunk(words + k / kStep * kStepBytes<kType>, rows + k, steps_of(f.block_k() - k), sums);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kTileVectors; ++v)
          totals[r][v] = k == 0 ? sums[r][v].total() : totals[r][v] + sums[r][v].total();
      k += kChunk;
    } while (k < f.block_k());
    scale(totals, parameters, rows, to);
  }
};

/// R rows from `row` on, a block: its record, and the rows' records.
template <Type kType, std::size_t R>
inline void add_rows(const Format& f, const std::byte* record, const std::byte* rows, float* sums) noexcept {
  const Tile<kType, R> tile{f, record_bytes(f)};
  const float* const parameters = reinterpret_cast<const float*>(record + f.numbers_bytes());
  for (std::size_t n = 0; n < kOutputs; n += tile_vectors(R) * kLanes)
    tile.add_block(record + n * sizeof(std::int32_t), parameters + n, rows, sums + n);
}

using AddRows = void (*)(const Format&, const std::byte* record, const std::byte* rows, float* sums) noexcept;
template <Type kType, std::size_t... I>
constexpr AddRows add_rows_of(std::size_t rows, std::index_sequence<I...>) {
  constexpr AddRows kFunctions[] = {add_rows<kType, I + 1>...};
  return kFunctions[rows - 1];
}

template <Type kType>
inline void multiply(const MultiplyArgs& args) noexcept {
  const Format f = args.format;
  const std::byte* record = args.panel;
  const std::byte* rows = args.prepared;
  const std::size_t bytes = f.record_bytes(), row_bytes = record_bytes(f);
  for (std::size_t block = 0; block < f.blocks(); ++block, record += bytes, rows += args.rows * row_bytes) {
    for (std::size_t at = 0; args.rows > 1 && at < bytes; at += 64) __builtin_prefetch(record + at + kAhead);
    for (std::size_t r = 0; r < args.rows; r += kTileRows) {
      const std::size_t some = args.rows - r < kTileRows ? args.rows - r : kTileRows;
      add_rows_of<kType>(some, std::make_index_sequence<kTileRows>())(f, record, rows + r * row_bytes,
                                                                      args.sums + r * kOutputs);
    }
  }
}

template <Type kType>
constexpr Kernel kernel_of(const char* name, Isa isa) {
  return {name, isa, kType, Sums<kType>::kSpeed, prepare<kType>, multiply<kType>};
}

}  // namespace
}  // namespace colonnade::kernels::narrow_bytes
