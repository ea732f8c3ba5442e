// SPDX-License-Identifier: Apache-2.0
// A vector of numbers of each type as floats.
#pragma once

#include <cstring>

#include "kernels/base/simd.hpp"
#include "kernels/narrow/narrow.hpp"

namespace colonnade::kernels::narrow {
namespace {

inline constexpr std::size_t kLanes = Vec::kLanes;

inline Vec as_floats(IntBatch x) { return {xsimd::to_float(x)}; }

// GCC's own headers initialise unused operands with themselves.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

inline Vec load_bytes(const std::int8_t* p) {
#if defined(__AVX512F__)
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))))};
#elif defined(__AVX2__)
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))))};
#else
  float values[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) values[i] = p[i];
  return load(values);
#endif
}

inline Vec load_bf16(const std::uint16_t* p) {
#if defined(__AVX512F__)
  return from_bits(
      IntBatch(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16)));
#elif defined(__AVX2__)
  return from_bits(
      IntBatch(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16)));
#else
  std::int32_t bits[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) bits[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(p[i]) << 16);
  return from_bits(IntBatch::load_unaligned(bits));
#endif
}

/// A half as a float: exact, also below the least normal half.
inline float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7fffu;
  float value = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
  if (magnitude >= 0x400u) {
    const std::uint32_t bits = (magnitude << 13) + (magnitude >= 0x7c00u ? 0x70000000u : 0x38000000u);
    std::memcpy(&value, &bits, sizeof value);
  }
  return sign != 0 ? -value : value;
}

inline Vec load_f16(const std::uint16_t* p) {
#if defined(__AVX512F__)
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
#elif defined(__F16C__)
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
#else
  float values[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) values[i] = float_of_half(p[i]);
  return load(values);
#endif
}

#pragma GCC diagnostic pop

}  // namespace
}  // namespace colonnade::kernels::narrow
