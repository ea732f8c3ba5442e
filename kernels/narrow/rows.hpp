// SPDX-License-Identifier: Apache-2.0
// Few rows: a vector of weights is made once for a tile of rows, in registers.
#pragma once

#include <utility>

#include "kernels/narrow/generic.hpp"

namespace colonnade::kernels::narrow {
namespace {

/// Rows and vectors of outputs of a tile: its sums, a weight of each vector and its parameters fit the registers.
#if defined(__AVX512F__)
inline constexpr std::size_t kTileRows = kMostRows;
#else
inline constexpr std::size_t kTileRows = 4;
#endif
inline constexpr std::size_t kTileVectors = 2;

template <std::size_t R>
struct TileSums {
  Vec at[R][kTileVectors];
};

/// Terms [first, first + count) of a step, at most kStep.
template <class Numbers, std::size_t R>
struct RowsTile {
  const RowsArgs& args;
  TileSums<R> sums;
  Vec scale[kTileVectors], zero[kTileVectors];

  [[gnu::always_inline]] void add_term(const typename Numbers::Word* words, const float* x, std::size_t i) {
    Vec weights[kTileVectors];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kTileVectors; ++v) weights[v] = weight<Numbers>(words[v], i, zero[v], scale[v]);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) {
      const Vec term = broadcast(x[static_cast<std::ptrdiff_t>(r) * args.x_stride]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kTileVectors; ++v) sums.at[r][v] = fma(term, weights[v], sums.at[r][v]);
    }
  }

  [[gnu::always_inline]] void add_block(const std::byte* record, std::size_t n, const float* x, std::size_t count) {
    const float* const parameters = reinterpret_cast<const float*>(record + args.format.numbers_bytes()) + n;
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kTileVectors; ++v) {
      if constexpr (is_scaled(Numbers::kType)) scale[v] = load(parameters + v * kLanes);
      if (args.format.has_zeros) zero[v] = load(parameters + kOutputs + v * kLanes);
    }
    for (std::size_t k = 0; k < count; k += kStep, x += kStep) {
      typename Numbers::Word words[kTileVectors];
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kTileVectors; ++v) words[v] = Numbers::word_at(record, k, n + v * kLanes);
      if (count - k >= kStep) {
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kStep; ++i) add_term(words, x + i, i);
        continue;
      }
#pragma GCC unroll 1
      for (std::size_t i = 0; i < count - k; ++i) add_term(words, x + i, i);
    }
  }

  [[gnu::always_inline]] void run(std::size_t n, const float* x, float* to) {
    const Format& f = args.format;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kTileVectors; ++v) sums.at[r][v] = load(to + r * kOutputs + n + v * kLanes);
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kTileVectors; ++v) scale[v] = zero[v] = broadcast(f.zero);
    const std::byte* record = args.panel;
    for (std::size_t k = 0; k < f.k; k += f.block, record += f.record_bytes())
      add_block(record, n, x + k, f.k - k < f.block ? f.k - k : f.block);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kTileVectors; ++v) store(to + r * kOutputs + n + v * kLanes, sums.at[r][v]);
  }
};

template <class Numbers, std::size_t R>
inline void run_rows(const RowsArgs& args, const float* x, float* to) noexcept {
  for (std::size_t n = 0; n < kOutputs; n += kTileVectors * kLanes) {
    RowsTile<Numbers, R> tile{args, {}, {}, {}};
    tile.run(n, x, to);
  }
}

using RowsFn = void (*)(const RowsArgs&, const float* x, float* to) noexcept;
template <class Numbers, std::size_t... I>
constexpr RowsFn rows_function(std::size_t rows, std::index_sequence<I...>) {
  constexpr RowsFn kFunctions[] = {run_rows<Numbers, I + 1>...};
  return kFunctions[rows - 1];
}

template <class Numbers>
inline void multiply_rows(const RowsArgs& args) noexcept {
  for (std::size_t row = 0; row < args.rows; row += kTileRows) {
    const std::size_t rows = args.rows - row < kTileRows ? args.rows - row : kTileRows;
    rows_function<Numbers>(rows, std::make_index_sequence<kTileRows>())(
        args, args.x + static_cast<std::ptrdiff_t>(row) * args.x_stride, args.sums + row * kOutputs);
  }
}

}  // namespace
}  // namespace colonnade::kernels::narrow
