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

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || !defined(__AVX2__)
/// Products that are added at once, and what a pixel's channel is made for that: four bytes, or two integers of 16
/// bits, whose products and their sum are exact without instructions for bytes.
inline constexpr std::size_t kStep = 4;
using Channel = std::uint8_t;
#else
inline constexpr std::size_t kStep = 2;
using Channel = std::int16_t;
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
#if defined(__AVX512VNNI__)
[[gnu::always_inline]] inline IntVec step_weights(const std::int8_t* w) { return load_ints(w); }
// GCC 12 copies the sums around the intrinsic.
[[gnu::always_inline]] inline void add_products(IntVec& sum, IntVec x, IntVec w) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.v) : "v"(x.v), "v"(w.v));
}
#else
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
#if defined(__AVXVNNI__)
[[gnu::always_inline]] inline IntVec step_weights(const std::int8_t* w) { return load_ints(w); }
[[gnu::always_inline]] inline void add_products(IntVec& sum, IntVec x, IntVec w) {
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.v) : "x"(x.v), "x"(w.v));
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
