// SPDX-License-Identifier: Apache-2.0
// Several vectors: numbers become floats once for a tile of vectors. Each has the sums that it has alone.
#pragma once

#include "kernels/narrow/rows.hpp"

namespace colonnade::kernels::narrow {
namespace {

/// R vectors times a vector of outputs.
template <class Numbers, std::size_t R>
struct VectorsTile {
  const Format& f;
  const float* prepared;  ///< [R][prepared_floats]
  std::ptrdiff_t apart;
  Vec sums[R];

  [[gnu::always_inline]] void add_block(const std::byte* record, std::size_t n, std::size_t block, std::size_t count) {
    const float* const terms = prepared + block * f.block_k();
    const float* const x_sums = prepared + f.blocks() * f.block_k() + block;
    Vec even[R], odd[R];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) even[r] = odd[r] = zero();
#pragma GCC unroll 1
    for (std::size_t k = 0; k < count; k += kStep) {
      const auto word = Numbers::word_at(record, k, n);
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kStep; ++i) {
        const Vec number = Numbers::factor(word, i);
        Vec* const chain = i % 2 == 0 ? even : odd;
#pragma GCC unroll 8
        for (std::size_t r = 0; r < R; ++r)
          chain[r] = fma(broadcast(terms[static_cast<std::ptrdiff_t>(r) * apart + static_cast<std::ptrdiff_t>(k + i)]),
                         number, chain[r]);
      }
    }
    const float* const scales = reinterpret_cast<const float*>(record + f.numbers_bytes()) + n;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r)
      sums[r] = add_sums<Numbers>(f, even[r] + odd[r], scales, x_sums[static_cast<std::ptrdiff_t>(r) * apart], sums[r]);
  }
};

template <class Numbers, std::size_t R>
inline void run_vectors(const MultiplyArgs& args, const float* prepared, float* to) noexcept {
  const Format f = args.format;
  for (std::size_t n = 0; n < kOutputs; n += kLanes) {
    VectorsTile<Numbers, R> tile{f, prepared, static_cast<std::ptrdiff_t>(f.prepared_floats()), {}};
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) tile.sums[r] = load(to + r * kOutputs + n);
    const std::byte* record = args.panel;
    for (std::size_t block = 0; block < f.blocks(); ++block, record += f.record_bytes()) {
      const std::size_t left = f.k - block * f.block;
      tile.add_block(record, n, block, left < f.block ? left : f.block);
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) store(to + r * kOutputs + n, tile.sums[r]);
  }
}

using VectorsFn = void (*)(const MultiplyArgs&, const float* prepared, float* to) noexcept;
template <class Numbers, std::size_t... I>
constexpr VectorsFn vectors_function(std::size_t vectors, std::index_sequence<I...>) {
  constexpr VectorsFn kFunctions[] = {run_vectors<Numbers, I + 1>...};
  return kFunctions[vectors - 1];
}

template <class Numbers>
inline void multiply_vectors(const MultiplyArgs& args) noexcept {
  if (args.vectors == 1) return multiply<Numbers>(args);
  for (std::size_t first = 0; first < args.vectors; first += kTileRows) {
    const std::size_t vectors = args.vectors - first < kTileRows ? args.vectors - first : kTileRows;
    vectors_function<Numbers>(vectors, std::make_index_sequence<kTileRows>())(
        args, args.prepared + first * args.format.prepared_floats(), args.sums + first * kOutputs);
  }
}

}  // namespace
}  // namespace colonnade::kernels::narrow
