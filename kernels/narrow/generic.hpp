// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/narrow/numbers.hpp"

namespace colonnade::kernels::narrow {
namespace {

/// Vectors of outputs that are summed together, two chains each: all of a panel, or as many as registers hold.
inline constexpr std::size_t kPanelVectors = kOutputs / kLanes;
inline constexpr std::size_t kTogether = 4;
static_assert(kPanelVectors % kTogether == 0);

/// Bytes of weights between what is read and what is asked for.
inline constexpr std::size_t kAhead = 4096;

struct Chains {
  Vec even[kTogether], odd[kTogether];
};

/// Elements of type T, a row of kOutputs a k. Load makes floats of them.
template <Type type, class T, Vec (*Load)(const T*)>
struct Elements {
  static constexpr Type kType = type;
  static constexpr float scale_of_term(std::size_t) { return 1; }

  [[gnu::always_inline]] static void add(const std::byte* numbers, std::size_t first, const float* x, Chains& chains) {
    const T* row = reinterpret_cast<const T*>(numbers) + first;
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kStep; k += 2, row += 2 * kOutputs) {
      __builtin_prefetch(reinterpret_cast<const std::byte*>(row) + kAhead);
      __builtin_prefetch(reinterpret_cast<const std::byte*>(row + kOutputs) + kAhead);
      if constexpr (sizeof(T) > 1) {
        __builtin_prefetch(reinterpret_cast<const std::byte*>(row + kOutputs / 2) + kAhead);
        __builtin_prefetch(reinterpret_cast<const std::byte*>(row + kOutputs + kOutputs / 2) + kAhead);
      }
      const Vec even = broadcast(x[k]), odd = broadcast(x[k + 1]);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kTogether; ++v) {
        chains.even[v] = fma(even, Load(row + v * kLanes), chains.even[v]);
        chains.odd[v] = fma(odd, Load(row + kOutputs + v * kLanes), chains.odd[v]);
      }
    }
  }
  /// Those of kStep k from `k` on, which is a multiple of it, of a vector of outputs; the i-th of them.
  using Word = const T*;
  static Word word_at(const std::byte* numbers, std::size_t k, std::size_t n) {
    return reinterpret_cast<const T*>(numbers) + k * kOutputs + n;
  }
  [[gnu::always_inline]] static Vec number(Word word, std::size_t i) { return Load(word + i * kOutputs); }
  /// What a prepared term meets.
  [[gnu::always_inline]] static Vec factor(Word word, std::size_t i) { return number(word, i); }
  static constexpr std::size_t kStepBytes = kStep * kOutputs * sizeof(T);
};

using I8 = Elements<Type::i8, std::int8_t, load_bytes>;
using F16 = Elements<Type::f16, std::uint16_t, load_f16>;
using Bf16 = Elements<Type::bf16, std::uint16_t, load_bf16>;

/// Words of eight numbers. Where a number lies in its word it counts as a multiple of a power of two, by which the term
/// is divided; the highest one is moved down by four bits, away from the sign.
struct U4 {
  static constexpr Type kType = Type::u4;
  static constexpr float scale_of_term(std::size_t k) {
    constexpr float kScales[kStep] = {1, 0x1p-4f, 0x1p-8f, 0x1p-12f, 0x1p-16f, 0x1p-20f, 0x1p-24f, 0x1p-24f};
    return kScales[k % kStep];
  }

  static IntBatch word(const std::byte* numbers, std::size_t n) {
    return IntBatch::load_unaligned(reinterpret_cast<const std::int32_t*>(numbers) + n);
  }
  [[gnu::always_inline]] static void add(const std::byte* numbers, std::size_t first, const float* x, Chains& chains) {
    IntBatch words[kTogether];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kTogether; ++v) {
      words[v] = word(numbers, first + v * kLanes);
      if (v * kLanes % 16 == 0) __builtin_prefetch(numbers + (first + v * kLanes) * sizeof(std::int32_t) + kAhead);
    }
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kStep; ++k) {
      const Vec term = broadcast(x[k]);
      Vec* const sums = k % 2 == 0 ? chains.even : chains.odd;
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kTogether; ++v) {
        sums[v] = fma(term, factor(words[v], k), sums[v]);
      }
    }
  }
  using Word = IntBatch;
  static Word word_at(const std::byte* numbers, std::size_t k, std::size_t n) {
    return word(numbers + k / kStep * kStepBytes, n);
  }
  [[gnu::always_inline]] static Vec number(Word word, std::size_t i) {
    return as_floats(word >> static_cast<int>(4 * i) & IntBatch(0xf));
  }
  [[gnu::always_inline]] static Vec factor(Word word, std::size_t k) {
    const IntBatch bits = k + 1 < kStep ? word : word >> 4;
    return as_floats(bits & IntBatch(static_cast<std::int32_t>(0xfu << 4 * (k + 1 < kStep ? k : k - 1))));
  }
  static constexpr std::size_t kStepBytes = kOutputs * sizeof(std::int32_t);
};

/// Terms [first, end) of a block: their sum is taken in eight chains.
template <class Numbers>
inline float prepare_block(const float* x, std::size_t count, float* terms) {
  float sums[kStep] = {};
  for (std::size_t k = 0; k < count; k += kStep) {
    const std::size_t some = count - k < kStep ? count - k : kStep;
    for (std::size_t i = 0; i < some; ++i) {
      sums[i] += x[k + i];
      terms[k + i] = x[k + i] * Numbers::scale_of_term(i);
    }
    for (std::size_t i = some; i < kStep; ++i) terms[k + i] = 0;
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <class Numbers>
inline void prepare(const PrepareArgs& args) noexcept {
  const Format& f = args.format;
  float* const sums = args.prepared + f.blocks() * f.block_k();
  for (std::size_t block = 0, k = 0; k < f.k; ++block, k += f.block) {
    const std::size_t count = f.k - k < f.block ? f.k - k : f.block;
    sums[block] = prepare_block<Numbers>(args.x + k, count, args.prepared + block * f.block_k());
  }
}

/// What a block's terms times its numbers stand for, added to the sums of the blocks before.
template <class Numbers>
[[gnu::always_inline]] inline Vec add_sums(const Format& f, Vec block, const float* scales, float x_sum, Vec sums) {
  if constexpr (!is_scaled(Numbers::kType)) return sums + block;
  if (f.has_zeros)
    block = fnma(load(scales + kOutputs), broadcast(x_sum), block);
  else if (f.zero != 0)
    block = fnma(broadcast(f.zero), broadcast(x_sum), block);
  return fma(load(scales), block, sums);
}

/// A block's sums for the outputs from `first` on, added to those of the blocks before.
template <class Numbers>
[[gnu::always_inline]] inline void add_block(const Format& f, const std::byte* record, std::size_t first,
                                             const float* terms, std::size_t count, float x_sum, float* sums) {
  Chains chains;
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kTogether; ++v) chains.even[v] = chains.odd[v] = zero();
  const std::byte* numbers = record;
#pragma GCC unroll 1
  for (std::size_t k = 0; k < count; k += kStep, numbers += Numbers::kStepBytes)
    Numbers::add(numbers, first, terms + k, chains);
  const float* const scales = reinterpret_cast<const float*>(record + f.numbers_bytes()) + first;
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kTogether; ++v) {
    float* const sum = sums + first + v * kLanes;
    store(sum, add_sums<Numbers>(f, chains.even[v] + chains.odd[v], scales + v * kLanes, x_sum, load(sum)));
  }
}

template <class Numbers>
inline void multiply(const MultiplyArgs& args) noexcept {
  const Format f = args.format;
  const float* const x_sums = args.prepared + f.blocks() * f.block_k();
  const std::byte* record = args.panel;
  const float* terms = args.prepared;
  alignas(64) float sums[kOutputs];
  for (std::size_t i = 0; i < kOutputs; ++i) sums[i] = args.sums[i];
  for (std::size_t block = 0; block < f.blocks(); ++block, record += f.record_bytes(), terms += f.block_k()) {
    const std::size_t left = f.k - block * f.block, count = left < f.block ? left : f.block;
    for (std::size_t first = 0; first < kOutputs; first += kTogether * kLanes)
      add_block<Numbers>(f, record, first, terms, count, x_sums[block], sums);
  }
  for (std::size_t i = 0; i < kOutputs; ++i) args.sums[i] = sums[i];
}

template <class Numbers>
[[gnu::always_inline]] inline Vec weight(const typename Numbers::Word& word, std::size_t i, Vec zero, Vec scale) {
  const Vec number = Numbers::number(word, i);
  if constexpr (is_scaled(Numbers::kType)) return (number - zero) * scale;
  return number;
}

/// Rows [first, end) of a block, the row `first` to `to`.
template <class Numbers>
inline void widen_block(const Format& f, const std::byte* record, std::size_t first, std::size_t end, float* to,
                        std::size_t panel_stride) {
  constexpr std::size_t kPanel = 16;
  const float* const scales = reinterpret_cast<const float*>(record + f.numbers_bytes());
  for (std::size_t n = 0; n < kOutputs; n += kLanes) {
    float* out = to + n / kPanel * panel_stride + n % kPanel;
    Vec scale{}, zero = broadcast(f.zero);
    if constexpr (is_scaled(Numbers::kType)) scale = load(scales + n);
    if (f.has_zeros) zero = load(scales + kOutputs + n);
    for (std::size_t step = first / kStep * kStep; step < end; step += kStep) {
      const auto word = Numbers::word_at(record, step, n);
      Vec values[kStep];
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kStep; ++i) values[i] = weight<Numbers>(word, i, zero, scale);
      if (step >= first && step + kStep <= end) {
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kStep; ++i, out += kPanel) store(out, values[i]);
        continue;
      }
      for (std::size_t i = 0; i < kStep; ++i)
        if (step + i >= first && step + i < end) store(out, values[i]), out += kPanel;
    }
  }
}

template <class Numbers>
inline void widen(const WidenArgs& args) noexcept {
  const Format f = args.format;
  constexpr std::size_t kPanel = 16;
  const std::size_t end = args.first + args.count;
  for (std::size_t k = args.first; k < end;) {
    const std::size_t block = k / f.block, begin = block * f.block;
    const std::size_t until = end - begin < f.block ? end - begin : f.block;
    widen_block<Numbers>(f, args.panel + block * f.record_bytes(), k - begin, until,
                         args.to + (k - args.first) * kPanel, args.count * kPanel);
    k = begin + until;
  }
}

}  // namespace
}  // namespace colonnade::kernels::narrow
