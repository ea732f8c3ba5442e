// SPDX-License-Identifier: Apache-2.0
// Sums of products of bytes by the instructions that the tier has.
#pragma once

#include <cstring>

#include "kernels/base/simd.hpp"
#include "kernels/narrow_bytes/narrow_bytes.hpp"

namespace colonnade::kernels::narrow_bytes {
namespace {

inline constexpr std::size_t kLanes = Vec::kLanes;

/// The numbers of four k for each output: of words of eight those at even or at odd k, else the first or second four.
template <Type kType, bool kSecond>
[[gnu::always_inline]] inline IntBatch numbers_of(const std::byte* words) {
  if constexpr (kType == Type::u8) words += kSecond ? kOutputs * sizeof(std::int32_t) : 0;
  const IntBatch word = IntBatch::load_unaligned(reinterpret_cast<const std::int32_t*>(words));
  if constexpr (kType == Type::u8) return word;
  return (kSecond ? word >> 4 : word) & IntBatch(0x0f0f0f0f);
}
/// Four q of a row, in every lane.
[[gnu::always_inline]] inline IntBatch four_of(const std::byte* q) {
  std::int32_t four;
  std::memcpy(&four, q, sizeof four);
  return IntBatch(four);
}

#if defined(__AVX2__)
/// Sums are added to one after another: regrouped by the compiler, more of them live than there are registers.
template <class Register>
[[gnu::always_inline]] inline void keep_order(Register& sums) {
  asm("" : "+v"(sums));
}
#endif

// GCC's own headers initialise unused operands with themselves.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
/// Adds four products of bytes to each lane.
template <Type kType>
struct Sums {
  static constexpr double kSpeed = 3;
  IntBatch v = IntBatch(0);  // in braces it would be read from a list of lanes
  [[gnu::always_inline]] void add(IntBatch numbers, IntBatch q) {
    auto sums = static_cast<IntBatch::register_type>(v);
    const auto a = static_cast<IntBatch::register_type>(numbers), b = static_cast<IntBatch::register_type>(q);
#if defined(__AVX512VNNI__)
    asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
#else
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(a), "x"(b));
#endif
    v = IntBatch(sums);
  }
  [[gnu::always_inline]] IntBatch total() const { return v; }
};
#elif defined(__AVX2__)
#if defined(__AVX512F__)
using Bytes = __m512i;
[[gnu::always_inline]] inline Bytes add_pairs(Bytes a, Bytes b) { return _mm512_add_epi16(a, b); }
[[gnu::always_inline]] inline Bytes add_quads(Bytes a, Bytes b) { return _mm512_add_epi32(a, b); }
[[gnu::always_inline]] inline Bytes multiply_bytes(Bytes a, Bytes b) { return _mm512_maddubs_epi16(a, b); }
[[gnu::always_inline]] inline Bytes multiply_pairs(Bytes a, Bytes b) { return _mm512_madd_epi16(a, b); }
[[gnu::always_inline]] inline Bytes ones() { return _mm512_set1_epi16(1); }
[[gnu::always_inline]] inline Bytes low_unsigned(Bytes a) { return _mm512_and_si512(a, _mm512_set1_epi16(0xff)); }
[[gnu::always_inline]] inline Bytes high_unsigned(Bytes a) { return _mm512_srli_epi16(a, 8); }
[[gnu::always_inline]] inline Bytes low_signed(Bytes a) { return _mm512_srai_epi16(_mm512_slli_epi16(a, 8), 8); }
[[gnu::always_inline]] inline Bytes high_signed(Bytes a) { return _mm512_srai_epi16(a, 8); }
#else
using Bytes = __m256i;
[[gnu::always_inline]] inline Bytes add_pairs(Bytes a, Bytes b) { return _mm256_add_epi16(a, b); }
[[gnu::always_inline]] inline Bytes add_quads(Bytes a, Bytes b) { return _mm256_add_epi32(a, b); }
[[gnu::always_inline]] inline Bytes multiply_bytes(Bytes a, Bytes b) { return _mm256_maddubs_epi16(a, b); }
[[gnu::always_inline]] inline Bytes multiply_pairs(Bytes a, Bytes b) { return _mm256_madd_epi16(a, b); }
[[gnu::always_inline]] inline Bytes ones() { return _mm256_set1_epi16(1); }
[[gnu::always_inline]] inline Bytes low_unsigned(Bytes a) { return _mm256_and_si256(a, _mm256_set1_epi16(0xff)); }
[[gnu::always_inline]] inline Bytes high_unsigned(Bytes a) { return _mm256_srli_epi16(a, 8); }
[[gnu::always_inline]] inline Bytes low_signed(Bytes a) { return _mm256_srai_epi16(_mm256_slli_epi16(a, 8), 8); }
[[gnu::always_inline]] inline Bytes high_signed(Bytes a) { return _mm256_srai_epi16(a, 8); }
#endif
template <Type kType>
struct Sums;
/// Sums of 16 bits: of kChunk terms they are 8 * 2 * 15 * 127 = 30480 at most.
template <>
struct Sums<Type::u4> {
  static constexpr double kSpeed = 1.7;
  Bytes v{};
  [[gnu::always_inline]] void add(IntBatch numbers, IntBatch q) {
    v = add_pairs(v, multiply_bytes(numbers, q));
    keep_order(v);
  }
  [[gnu::always_inline]] IntBatch total() const { return IntBatch(multiply_pairs(v, ones())); }
};
/// Two products of eight bits more do not fit 16: both sides are widened first.
template <>
struct Sums<Type::u8> {
  static constexpr double kSpeed = 1;
  Bytes v{};
  [[gnu::always_inline]] void add(IntBatch numbers, IntBatch q) {
    v = add_quads(v, multiply_pairs(low_unsigned(numbers), low_signed(q)));
    keep_order(v);
    v = add_quads(v, multiply_pairs(high_unsigned(numbers), high_signed(q)));
    keep_order(v);
  }
  [[gnu::always_inline]] IntBatch total() const { return IntBatch(v); }
};
#else
template <Type kType>
struct Sums {
  static constexpr double kSpeed = 0.15;
  std::int32_t v[kLanes] = {};
  void add(IntBatch numbers, IntBatch q) {
    std::uint8_t a[4 * kLanes];
    std::int8_t b[4 * kLanes];
    numbers.store_unaligned(reinterpret_cast<std::int32_t*>(a));
    q.store_unaligned(reinterpret_cast<std::int32_t*>(b));
    for (std::size_t i = 0; i < 4 * kLanes; ++i) v[i / 4] += a[i] * b[i];
  }
  IntBatch total() const { return IntBatch::load_unaligned(v); }
};
#endif
#pragma GCC diagnostic pop

}  // namespace
}  // namespace colonnade::kernels::narrow_bytes
