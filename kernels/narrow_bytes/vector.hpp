// SPDX-License-Identifier: Apache-2.0
// Sums of products of bytes by the instructions that the tier has.
#pragma once

#include <cstring>

#include "kernels/base/simd.hpp"
#include "kernels/narrow_bytes/narrow_bytes.hpp"

namespace colonnade::kernels::narrow_bytes {
namespace {

inline constexpr std::size_t kLanes = Vec::kLanes;

/// Of words of eight numbers, one an output, those at even or odd k as bytes.
template <bool kOdd>
[[gnu::always_inline]] inline IntBatch numbers_of(const std::byte* words) {
  const IntBatch word = IntBatch::load_unaligned(reinterpret_cast<const std::int32_t*>(words));
  return (kOdd ? word >> 4 : word) & IntBatch(0x0f0f0f0f);
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
inline constexpr double kSpeed = 3;
struct Sums {
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
#elif defined(__AVX512F__)
/// Sums of 16 bits: of kChunk terms they are 8 * 2 * 15 * 127 = 30480 at most.
inline constexpr double kSpeed = 1.7;
struct Sums {
  __m512i v = _mm512_setzero_si512();
  [[gnu::always_inline]] void add(IntBatch numbers, IntBatch q) {
    v = _mm512_add_epi16(v, _mm512_maddubs_epi16(numbers, q));
    keep_order(v);
  }
  [[gnu::always_inline]] IntBatch total() const { return IntBatch(_mm512_madd_epi16(v, _mm512_set1_epi16(1))); }
};
#elif defined(__AVX2__)
inline constexpr double kSpeed = 1.7;
struct Sums {
  __m256i v = _mm256_setzero_si256();
  [[gnu::always_inline]] void add(IntBatch numbers, IntBatch q) {
    v = _mm256_add_epi16(v, _mm256_maddubs_epi16(numbers, q));
    keep_order(v);
  }
  [[gnu::always_inline]] IntBatch total() const { return IntBatch(_mm256_madd_epi16(v, _mm256_set1_epi16(1))); }
};
#else
inline constexpr double kSpeed = 0.15;
struct Sums {
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
