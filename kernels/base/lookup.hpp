// SPDX-License-Identifier: Apache-2.0
// Lanes of a vector, or of two, by their index: xsimd 8.1 takes indices that the compiler knows alone.
#pragma once

#include "kernels/base/simd.hpp"

namespace colonnade::kernels {
namespace {

/// Lane i is lane at[i] of x; at[i] in [0, kLanes).
inline Vec lookup(Vec x, const std::int32_t* at) {
#if defined(__AVX512F__)
  return {_mm512_permutexvar_ps(_mm512_loadu_si512(at), x.v)};
#elif defined(__AVX2__)
  return {_mm256_permutevar8x32_ps(x.v, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)))};
#else
  float from[Vec::kLanes], to[Vec::kLanes];
  store(from, x);
  for (std::size_t i = 0; i < Vec::kLanes; ++i) to[i] = from[at[i]];
  return load(to);
#endif
}

#if defined(__AVX2__)
/// Lane i is the element of eight that the lowest three bits of lane i of `bits` say, of which the fourth is zero.
inline Vec lookup_eight(const float* eight, Vec bits) {
#if defined(__AVX512F__)
  return {_mm512_permutexvar_ps(_mm512_castps_si512(bits.v), _mm512_castps256_ps512(_mm256_loadu_ps(eight)))};
#else
  return {_mm256_permutevar8x32_ps(_mm256_loadu_ps(eight), _mm256_castps_si256(bits.v))};
#endif
}
#endif

/// Lane i is lane at[i] of low, or lane at[i] - kLanes of high, where at[i] counts modulo 2 * kLanes.
inline Vec lookup(Vec low, Vec high, const std::int32_t* at) {
#if defined(__AVX512F__)
  return {_mm512_permutex2var_ps(low.v, _mm512_loadu_si512(at), high.v)};
#elif defined(__AVX2__)
  const __m256i lanes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m256 in_high = _mm256_castsi256_ps(_mm256_slli_epi32(lanes, 28));
  return {_mm256_blendv_ps(_mm256_permutevar8x32_ps(low.v, lanes), _mm256_permutevar8x32_ps(high.v, lanes), in_high)};
#else
  float from[2 * Vec::kLanes], to[Vec::kLanes];
  store(from, low);
  store(from + Vec::kLanes, high);
  for (std::size_t i = 0; i < Vec::kLanes; ++i) to[i] = from[static_cast<std::size_t>(at[i]) % (2 * Vec::kLanes)];
  return load(to);
#endif
}

/// a where at[i] < 2 * kLanes, else b; at[i] in [0, 4 * kLanes).
inline Vec either(Vec a, Vec b, const std::int32_t* at) {
#if defined(__AVX512F__)
  const __mmask16 in_b = _mm512_test_epi32_mask(_mm512_loadu_si512(at), _mm512_set1_epi32(32));
  return {_mm512_mask_blend_ps(in_b, a.v, b.v)};
#elif defined(__AVX2__)
  const __m256i lanes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  return {_mm256_blendv_ps(a.v, b.v, _mm256_castsi256_ps(_mm256_slli_epi32(lanes, 27)))};
#else
  float to[Vec::kLanes], from[Vec::kLanes];
  store(to, a);
  store(from, b);
  for (std::size_t i = 0; i < Vec::kLanes; ++i)
    to[i] = at[i] < static_cast<std::int32_t>(2 * Vec::kLanes) ? to[i] : from[i];
  return load(to);
#endif
}

}  // namespace
}  // namespace colonnade::kernels
