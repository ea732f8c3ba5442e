// SPDX-License-Identifier: Apache-2.0
// A vector of floats as wide as the tier this file is compiled for: 16 (AVX-512), 8 (AVX2), 4 (portable: GCC vectors,
// which become SSE2 or NEON). Everything lives in an anonymous namespace: each ISA file gets its own copy, and no
// function compiled for one tier can be linked into another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace colonnade::kernels {
namespace {

#if defined(__AVX512F__)

// GCC's own headers initialise unused operands with themselves.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

struct Vec {
  static constexpr std::size_t kLanes = 16;
  __m512 v;
};
using Mask = __mmask16;

inline Vec zero() { return {_mm512_setzero_ps()}; }
inline Vec broadcast(float x) { return {_mm512_set1_ps(x)}; }
inline Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, Vec x) { _mm512_storeu_ps(p, x.v); }
inline Mask first_lanes(std::size_t n) { return static_cast<Mask>((1u << n) - 1u); }  // n <= 16
inline Vec load_first(const float* p, std::size_t n) { return {_mm512_maskz_loadu_ps(first_lanes(n), p)}; }
inline void store_first(float* p, Vec x, std::size_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), x.v); }
/// Lanes [begin, end), for merge_lanes(x, p, lanes): p's lanes there, those of x elsewhere. No other of p's is read.
using Lanes = __mmask16;
inline Lanes lanes_between(std::size_t begin, std::size_t end) {
  return static_cast<Lanes>(first_lanes(end) & ~first_lanes(begin));
}
inline Vec merge_lanes(Vec x, const float* p, Lanes lanes) { return {_mm512_mask_loadu_ps(x.v, lanes, p)}; }
inline Vec operator+(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Vec operator-(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Vec operator*(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Vec operator/(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }    // a * b + c
inline Vec fnma(Vec a, Vec b, Vec c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }  // c - a * b
/// 1 / x for x in [1, 2^126], within one unit in the last place.
inline Vec reciprocal(Vec x) {
  const Vec guess = {_mm512_rcp14_ps(x.v)};
  return fma(guess, fnma(x, guess, broadcast(1.0f)), guess);
}
// min and max return b when either operand is NaN.
inline Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
inline Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Vec sqrt(Vec a) { return {_mm512_sqrt_ps(a.v)}; }
inline Vec floor(Vec a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)}; }
inline Vec ceil(Vec a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)}; }
inline Vec round(Vec a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
inline Vec abs(Vec a) { return {_mm512_abs_ps(a.v)}; }
inline Mask less(Vec a, Vec b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ); }
inline Mask is_nan(Vec a) { return _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q); }
inline Vec select(Mask m, Vec if_set, Vec if_clear) { return {_mm512_mask_blend_ps(m, if_clear.v, if_set.v)}; }
inline Vec copy_sign(Vec magnitude, Vec sign) {
  const __m512i bit = _mm512_set1_epi32(INT32_MIN);
  return {_mm512_castsi512_ps(
      _mm512_ternarylogic_epi32(bit, _mm512_castps_si512(sign.v), _mm512_castps_si512(magnitude.v), 0xCA))};
}
/// x * 2^n for integral n; handles overflow and gradual underflow.
inline Vec scale2(Vec x, Vec n) { return {_mm512_scalef_ps(x.v, n.v)}; }
/// The lowest eight bits of x as the exponent of a power of two.
inline Vec low_bits_to_exponent(Vec x) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(x.v), 23))};
}
/// Splits positive x into mantissa in [1, 2) and exponent.
inline Vec mantissa(Vec x) { return {_mm512_getmant_ps(x.v, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src)}; }
inline Vec exponent(Vec x) { return {_mm512_getexp_ps(x.v)}; }
inline float sum_lanes(Vec x) { return _mm512_reduce_add_ps(x.v); }
inline float max_lanes(Vec x) { return _mm512_reduce_max_ps(x.v); }

#pragma GCC diagnostic pop

#elif defined(__AVX2__)

struct Vec {
  static constexpr std::size_t kLanes = 8;
  __m256 v;
};
using Mask = __m256;

inline Vec zero() { return {_mm256_setzero_ps()}; }
inline Vec broadcast(float x) { return {_mm256_set1_ps(x)}; }
inline Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline void store(float* p, Vec x) { _mm256_storeu_ps(p, x.v); }
inline __m256i first_lanes(std::size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline Vec load_first(const float* p, std::size_t n) { return {_mm256_maskload_ps(p, first_lanes(n))}; }
inline void store_first(float* p, Vec x, std::size_t n) { _mm256_maskstore_ps(p, first_lanes(n), x.v); }
using Lanes = __m256i;
inline Lanes lanes_between(std::size_t begin, std::size_t end) {
  return _mm256_andnot_si256(first_lanes(begin), first_lanes(end));
}
inline Vec merge_lanes(Vec x, const float* p, Lanes lanes) {
  return {_mm256_blendv_ps(x.v, _mm256_maskload_ps(p, lanes), _mm256_castsi256_ps(lanes))};
}
inline Vec operator+(Vec a, Vec b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Vec operator-(Vec a, Vec b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline Vec operator*(Vec a, Vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Vec operator/(Vec a, Vec b) { return {_mm256_div_ps(a.v, b.v)}; }
inline Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline Vec fnma(Vec a, Vec b, Vec c) { return {_mm256_fnmadd_ps(a.v, b.v, c.v)}; }
inline Vec reciprocal(Vec x) { return broadcast(1.0f) / x; }
inline Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }
inline Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
inline Vec sqrt(Vec a) { return {_mm256_sqrt_ps(a.v)}; }
inline Vec floor(Vec a) { return {_mm256_floor_ps(a.v)}; }
inline Vec ceil(Vec a) { return {_mm256_ceil_ps(a.v)}; }
inline Vec round(Vec a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
inline Vec abs(Vec a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
inline Mask less(Vec a, Vec b) { return _mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ); }
inline Mask is_nan(Vec a) { return _mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q); }
inline Vec select(Mask m, Vec if_set, Vec if_clear) { return {_mm256_blendv_ps(if_clear.v, if_set.v, m)}; }
inline Vec copy_sign(Vec magnitude, Vec sign) {
  const __m256 bit = _mm256_set1_ps(-0.0f);
  return {_mm256_or_ps(_mm256_and_ps(bit, sign.v), _mm256_andnot_ps(bit, magnitude.v))};
}
inline Vec power2(__m256i n) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23))};
}
inline Vec scale2(Vec x, Vec n) {  // two halves, so that n in [-252, 254] neither wraps nor loses subnormals
  const __m256i whole = _mm256_cvtps_epi32(n.v);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  return x * power2(half) * power2(_mm256_sub_epi32(whole, half));
}
inline Vec low_bits_to_exponent(Vec x) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(x.v), 23))};
}
inline Vec mantissa(Vec x) {
  const __m256i bits = _mm256_and_si256(_mm256_castps_si256(x.v), _mm256_set1_epi32(0x007fffff));
  return {_mm256_castsi256_ps(_mm256_or_si256(bits, _mm256_set1_epi32(0x3f800000)))};
}
inline Vec exponent(Vec x) {
  const __m256i biased = _mm256_srli_epi32(_mm256_castps_si256(x.v), 23);
  return {_mm256_cvtepi32_ps(_mm256_sub_epi32(biased, _mm256_set1_epi32(127)))};
}
inline float sum_lanes(Vec x) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
inline float max_lanes(Vec x) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_shuffle_ps(s, s, 1)));
}

#else

typedef float Float4 __attribute__((vector_size(16)));
typedef std::int32_t Int4 __attribute__((vector_size(16)));

struct Vec {
  static constexpr std::size_t kLanes = 4;
  Float4 v;
};
using Mask = Int4;

inline Vec broadcast(float x) { return {Float4{x, x, x, x}}; }
inline Vec zero() { return broadcast(0.0f); }
inline Vec load(const float* p) {
  Vec x;
  std::memcpy(&x.v, p, sizeof x.v);
  return x;
}
inline void store(float* p, Vec x) { std::memcpy(p, &x.v, sizeof x.v); }
inline Vec load_first(const float* p, std::size_t n) {
  Vec x = zero();
  for (std::size_t i = 0; i < n; ++i) x.v[i] = p[i];
  return x;
}
inline void store_first(float* p, Vec x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) p[i] = x.v[i];
}
struct Lanes {
  std::size_t begin;
  std::size_t end;
};
inline Lanes lanes_between(std::size_t begin, std::size_t end) { return {begin, end}; }
inline Vec merge_lanes(Vec x, const float* p, Lanes lanes) {
  for (std::size_t i = lanes.begin; i < lanes.end; ++i) x.v[i] = p[i];
  return x;
}
inline Vec operator+(Vec a, Vec b) { return {a.v + b.v}; }
inline Vec operator-(Vec a, Vec b) { return {a.v - b.v}; }
inline Vec operator*(Vec a, Vec b) { return {a.v * b.v}; }
inline Vec operator/(Vec a, Vec b) { return {a.v / b.v}; }
inline Vec fma(Vec a, Vec b, Vec c) { return {a.v * b.v + c.v}; }
inline Vec fnma(Vec a, Vec b, Vec c) { return {c.v - a.v * b.v}; }
inline Vec reciprocal(Vec x) { return broadcast(1.0f) / x; }
inline Vec select(Mask m, Vec if_set, Vec if_clear) {
  return {(Float4)((m & (Int4)if_set.v) | (~m & (Int4)if_clear.v))};
}
inline Mask less(Vec a, Vec b) { return a.v < b.v; }
inline Mask is_nan(Vec a) { return a.v != a.v; }
inline Vec min(Vec a, Vec b) { return select(a.v < b.v, a, b); }
inline Vec max(Vec a, Vec b) { return select(a.v > b.v, a, b); }
template <class Function>
inline Vec each_lane(Vec a, Function function) {
  for (int i = 0; i < 4; ++i) a.v[i] = function(a.v[i]);
  return a;
}
inline Vec sqrt(Vec a) {
  return each_lane(a, [](float x) { return __builtin_sqrtf(x); });
}
inline Vec floor(Vec a) {
  return each_lane(a, [](float x) { return __builtin_floorf(x); });
}
inline Vec ceil(Vec a) {
  return each_lane(a, [](float x) { return __builtin_ceilf(x); });
}
inline Vec round(Vec a) {
  return each_lane(a, [](float x) { return __builtin_nearbyintf(x); });
}
inline Vec abs(Vec a) { return {(Float4)((Int4)a.v & 0x7fffffff)}; }
inline Vec copy_sign(Vec magnitude, Vec sign) {
  return {(Float4)(((Int4)sign.v & INT32_MIN) | ((Int4)magnitude.v & INT32_MAX))};
}
inline Vec scale2(Vec x, Vec n) {
  const Int4 whole = __builtin_convertvector(n.v, Int4);
  const Int4 half = whole >> 1;
  return x * Vec{(Float4)((half + 127) << 23)} * Vec{(Float4)((whole - half + 127) << 23)};
}
inline Vec low_bits_to_exponent(Vec x) { return {(Float4)((Int4)x.v << 23)}; }
inline Vec mantissa(Vec x) { return {(Float4)(((Int4)x.v & 0x007fffff) | 0x3f800000)}; }
inline Vec exponent(Vec x) { return {__builtin_convertvector(((Int4)x.v >> 23) - 127, Float4)}; }
inline float sum_lanes(Vec x) { return (x.v[0] + x.v[2]) + (x.v[1] + x.v[3]); }
inline float max_lanes(Vec x) {
  const float a = x.v[0] > x.v[2] ? x.v[0] : x.v[2];
  const float b = x.v[1] > x.v[3] ? x.v[1] : x.v[3];
  return a > b ? a : b;
}

#endif

}  // namespace
}  // namespace colonnade::kernels
