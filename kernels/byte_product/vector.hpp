// SPDX-License-Identifier: Apache-2.0
// Vectors of int32 of the tier this file is compiled for, sums of products of bytes in them, and how they become
// outputs. Everything lives in an anonymous namespace: each tier's files have their own copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/base/simd.hpp"
#include "kernels/byte_product/byte_product.hpp"

namespace colonnade::kernels::byte_product {
namespace {

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || !defined(__AVX2__) || defined(COLONNADE_SPLITS)
/// Products that are added at once, and what a pixel's channel is made for that: four bytes, or two integers of 16
/// bits, whose products and their sum are exact without instructions for bytes.
inline constexpr std::size_t kStep = 4;
using Channel = std::uint8_t;
#else
inline constexpr std::size_t kStep = 2;
using Channel = std::int16_t;
#endif
#if defined(COLONNADE_SPLITS)
inline constexpr Packing kPacking{kStep, true};
#else
inline constexpr Packing kPacking{kStep, false};
#endif
inline constexpr std::size_t kStepBytes = kStep * kPanel;
/// Whether pixels can be multiplied where they lie.
inline constexpr bool kReadsBytes = sizeof(Channel) == 1;

#if defined(__AVX512F__)
struct IntVec {
  static constexpr std::size_t kLanes = 16;
  __m512i v;
};
inline IntVec load_ints(const void* p) { return {_mm512_loadu_si512(p)}; }
/// Channels of a pixel for one step, in every lane.
[[gnu::always_inline]] inline IntVec channels(const char* p) {
  std::int32_t x;
  std::memcpy(&x, p, sizeof x);
  return {_mm512_set1_epi32(x)};
}
inline IntVec add_multiple(IntVec sum, IntVec x, std::int32_t times) {
  return {_mm512_add_epi32(sum.v, _mm512_mullo_epi32(x.v, _mm512_set1_epi32(times)))};
}
#if defined(__AVX512VNNI__)
/// Of inputs.
inline std::int32_t sum_of(const Channel* p, std::size_t count) {
  __m512i sum = _mm512_setzero_si512();
  for (; count >= 64; count -= 64, p += 64)
    sum = _mm512_add_epi64(sum, _mm512_sad_epu8(_mm512_loadu_si512(p), _mm512_setzero_si512()));
  const __m512i rest = _mm512_maskz_loadu_epi8((__mmask64{1} << count) - 1, p);
  return static_cast<std::int32_t>(
      _mm512_reduce_add_epi64(_mm512_add_epi64(sum, _mm512_sad_epu8(rest, _mm512_setzero_si512()))));
}
[[gnu::always_inline]] inline IntVec step_weights(const std::int8_t* w) { return load_ints(w); }
// GCC 12 copies the sums around the intrinsic.
[[gnu::always_inline]] inline void add_products(IntVec& sum, IntVec x, IntVec w) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.v) : "v"(x.v), "v"(w.v));
}
#else
inline std::int32_t sum_of(const Channel* p, std::size_t count) {
  const __m512i one = _mm512_set1_epi16(1);
  __m512i sum = _mm512_setzero_si512();
  for (; count >= 32; count -= 32, p += 32) sum = _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_loadu_si512(p), one));
  const __m512i rest = _mm512_maskz_loadu_epi16((__mmask32{1} << count) - 1, p);
  return _mm512_reduce_add_epi32(_mm512_add_epi32(sum, _mm512_madd_epi16(rest, one)));
}
[[gnu::always_inline]] inline IntVec step_weights(const std::int8_t* w) {
  return {_mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w)))};
}
[[gnu::always_inline]] inline void add_products(IntVec& sum, IntVec x, IntVec w) {
  sum.v = _mm512_add_epi32(sum.v, _mm512_madd_epi16(x.v, w.v));
}
#endif
#elif defined(__AVX2__)
struct IntVec {
  static constexpr std::size_t kLanes = 8;
  __m256i v;
};
inline IntVec load_ints(const void* p) { return {_mm256_loadu_si256(static_cast<const __m256i*>(p))}; }
[[gnu::always_inline]] inline IntVec channels(const char* p) {
  std::int32_t x;
  std::memcpy(&x, p, sizeof x);
  return {_mm256_set1_epi32(x)};
}
inline IntVec add_multiple(IntVec sum, IntVec x, std::int32_t times) {
  return {_mm256_add_epi32(sum.v, _mm256_mullo_epi32(x.v, _mm256_set1_epi32(times)))};
}
/// Of inputs.
inline std::int32_t sum_of(const Channel* p, std::size_t count) {
  constexpr std::size_t kChannels = 32 / sizeof(Channel);
  __m256i sum = _mm256_setzero_si256();  // of int32, or of int64 whose upper halves stay zero
  for (; count >= kChannels; count -= kChannels, p += kChannels) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i some =
        kReadsBytes ? _mm256_sad_epu8(x, _mm256_setzero_si256()) : _mm256_madd_epi16(x, _mm256_set1_epi16(1));
    sum = _mm256_add_epi32(sum, some);
  }
  std::int32_t lanes[8], total = 0;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), sum);
  for (const std::int32_t lane : lanes) total += lane;
  for (std::size_t i = 0; i < count; ++i) total += p[i];
  return total;
}
#if defined(__AVXVNNI__)
[[gnu::always_inline]] inline IntVec step_weights(const std::int8_t* w) { return load_ints(w); }
[[gnu::always_inline]] inline void add_products(IntVec& sum, IntVec x, IntVec w) {
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.v) : "x"(x.v), "x"(w.v));
}
#elif defined(COLONNADE_SPLITS)
[[gnu::always_inline]] inline IntVec step_weights(const std::int8_t* w) { return load_ints(w); }
[[gnu::always_inline]] inline void add_products(IntVec& sum, IntVec x, IntVec w) {
  const __m256i twos = _mm256_maddubs_epi16(x.v, w.v);
  sum.v = _mm256_add_epi32(sum.v, _mm256_madd_epi16(twos, _mm256_set1_epi16(1)));
}
#else
[[gnu::always_inline]] inline IntVec step_weights(const std::int8_t* w) {
  return {_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w)))};
}
[[gnu::always_inline]] inline void add_products(IntVec& sum, IntVec x, IntVec w) {
  sum.v = _mm256_add_epi32(sum.v, _mm256_madd_epi16(x.v, w.v));
}
#endif
#else
struct IntVec {
  static constexpr std::size_t kLanes = 16;
  std::int32_t v[kLanes];
};
inline IntVec load_ints(const void* p) {
  IntVec x;
  std::memcpy(x.v, p, sizeof x.v);
  return x;
}
inline IntVec add_multiple(IntVec sum, const IntVec& x, std::int32_t times) {
  for (std::size_t i = 0; i < IntVec::kLanes; ++i)
    sum.v[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum.v[i]) +
                                         static_cast<std::uint32_t>(x.v[i]) * static_cast<std::uint32_t>(times));
  return sum;
}
/// Of inputs.
inline std::int32_t sum_of(const Channel* p, std::size_t count) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += p[i];
  return sum;
}
struct FourChannels {
  std::int32_t of[kStep];
};
struct StepWeights {
  const std::int8_t* first;
};
inline FourChannels channels(const char* p) {
  std::uint8_t x[kStep];
  std::memcpy(x, p, sizeof x);
  return {{x[0], x[1], x[2], x[3]}};
}
inline StepWeights step_weights(const std::int8_t* w) { return {w}; }
inline void add_products(IntVec& sum, FourChannels x, StepWeights w) {
  for (std::size_t lane = 0; lane < IntVec::kLanes; ++lane) {
    const std::int8_t* four = w.first + lane * kStep;
    const std::int32_t products = x.of[0] * four[0] + x.of[1] * four[1] + x.of[2] * four[2] + x.of[3] * four[3];
    const auto before = static_cast<std::uint32_t>(sum.v[lane]);
    sum.v[lane] = static_cast<std::int32_t>(before + static_cast<std::uint32_t>(products));
  }
}
#endif

inline constexpr std::size_t kPanelVectors = kPanel / IntVec::kLanes;

}  // namespace
}  // namespace colonnade::kernels::byte_product
