// SPDX-License-Identifier: Apache-2.0
// What Vec does not take from xsimd as it is (8.1), on all tiers or on some, each with the reason.
#pragma once

#include "kernels/base/vec.hpp"

namespace colonnade::kernels {
namespace {

// GCC's own headers initialise unused operands with themselves.
#if defined(__AVX512F__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#endif

// Through xsimd, GCC 12 keeps more addresses of a tile apart than there are registers: 3 to 11 % of depthwise's time.
#if defined(__AVX512F__)
inline Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, Vec x) { _mm512_storeu_ps(p, x.v); }
#else
inline Vec load(const float* p) { return {Batch::load_unaligned(p)}; }
inline void store(float* p, Vec x) { Batch(x.v).store_unaligned(p); }
#endif

// b when either operand is NaN, as x86's instructions have it: Arm's give NaN.
#if defined(__ARM_NEON)
inline Vec min(Vec a, Vec b) { return {xsimd::select(Batch(a.v) < Batch(b.v), Batch(a.v), Batch(b.v))}; }
inline Vec max(Vec a, Vec b) { return {xsimd::select(Batch(b.v) < Batch(a.v), Batch(a.v), Batch(b.v))}; }
#else
inline Vec min(Vec a, Vec b) { return {xsimd::min(Batch(a.v), Batch(b.v))}; }
inline Vec max(Vec a, Vec b) { return {xsimd::max(Batch(a.v), Batch(b.v))}; }
#endif

/// Changes the sign: xsimd's on AVX-512 is 0 - x, which is 0 for 0.
inline Vec operator-(Vec a) { return {-a.v}; }

// Arithmetic.
#if defined(__AVX512F__)
// a * b + c and c - a * b, rounded once: xsimd multiplies and adds, and leaves it to the compiler to contract them.
inline Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Vec fnma(Vec a, Vec b, Vec c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
/// 1 / x for x in [1, 2^126], within one unit in the last place: xsimd's is this guess.
inline Vec reciprocal(Vec x) {
  const Vec guess = {_mm512_rcp14_ps(x.v)};
  return fma(guess, fnma(x, guess, {Batch(1.0f)}), guess);
}
// One instruction each: xsimd takes three for the sign, and has nothing of the kind for the others.
inline Vec copy_sign(Vec magnitude, Vec sign) {
  const __m512i bit = _mm512_set1_epi32(INT32_MIN);
  return {_mm512_castsi512_ps(
      _mm512_ternarylogic_epi32(bit, _mm512_castps_si512(sign.v), _mm512_castps_si512(magnitude.v), 0xCA))};
}
/// x * 2^n for integral n; handles overflow and gradual underflow.
inline Vec scale2(Vec x, Vec n) { return {_mm512_scalef_ps(x.v, n.v)}; }
/// Splits positive x into mantissa in [1, 2) and exponent.
inline Vec mantissa(Vec x) { return {_mm512_getmant_ps(x.v, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src)}; }
inline Vec exponent(Vec x) { return {_mm512_getexp_ps(x.v)}; }
#else
inline Vec fma(Vec a, Vec b, Vec c) { return {xsimd::fma(Batch(a.v), Batch(b.v), Batch(c.v))}; }
#if defined(__AVX2__)
inline Vec fnma(Vec a, Vec b, Vec c) { return {xsimd::fnma(Batch(a.v), Batch(b.v), Batch(c.v))}; }
#else
inline Vec fnma(Vec a, Vec b, Vec c) { return {Batch(c.v) - Batch(a.v) * Batch(b.v)}; }  // xsimd's negates a
#endif
inline Vec reciprocal(Vec x) { return {Batch(1.0f) / Batch(x.v)}; }  // xsimd's is a guess of 12 bits
inline Vec copy_sign(Vec magnitude, Vec sign) { return {xsimd::copysign(Batch(magnitude.v), Batch(sign.v))}; }
// xsimd's ldexp takes normal powers alone, its frexp splits into [1/2, 1).
inline Batch power2(IntBatch n) { return Batch(from_bits((n + IntBatch(127)) << 23).v); }
inline Vec scale2(Vec x, Vec n) {  // two halves, so that n in [-252, 254] neither wraps nor loses subnormals
  const IntBatch whole = xsimd::to_int(Batch(n.v));
  const IntBatch half = whole >> 1;
  return {Batch(x.v) * power2(half) * power2(whole - half)};
}
inline Vec mantissa(Vec x) { return from_bits((bits_of(x) & IntBatch(0x007fffff)) | IntBatch(0x3f800000)); }
inline Vec exponent(Vec x) { return {xsimd::to_float((bits_of(x) >> 23) - IntBatch(127))}; }
#endif

// To integers: without an instruction for it, xsimd loses the sign of a zero.
#if defined(__AVX2__)
inline Vec floor(Vec a) { return {xsimd::floor(Batch(a.v))}; }
inline Vec ceil(Vec a) { return {xsimd::ceil(Batch(a.v))}; }
#else
inline Vec floor(Vec a) { return {xsimd::copysign(xsimd::floor(Batch(a.v)), Batch(a.v))}; }
inline Vec ceil(Vec a) { return {xsimd::copysign(xsimd::ceil(Batch(a.v)), Batch(a.v))}; }
#endif

// The first n lanes, and lanes [begin, end) as merge_lanes(x, p, lanes) takes them: p's there, those of x elsewhere. No
// other of p's is read or written: xsimd 8.1 has no masked loads and stores.
#if defined(__AVX512F__)
using Lanes = __mmask16;
inline Lanes first_bits(std::size_t n) { return static_cast<Lanes>((1u << n) - 1u); }  // n <= 16
inline Mask first_lanes(std::size_t n) { return Mask(first_bits(n)); }
inline Vec load_first(const float* p, std::size_t n) { return {_mm512_maskz_loadu_ps(first_bits(n), p)}; }
inline void store_first(float* p, Vec x, std::size_t n) { _mm512_mask_storeu_ps(p, first_bits(n), x.v); }
inline Lanes lanes_between(std::size_t begin, std::size_t end) {
  return static_cast<Lanes>(first_bits(end) & ~first_bits(begin));
}
inline Vec merge_lanes(Vec x, const float* p, Lanes lanes) { return {_mm512_mask_loadu_ps(x.v, lanes, p)}; }
#elif defined(__AVX2__)
using Lanes = __m256i;
inline Lanes first_bits(std::size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline Mask first_lanes(std::size_t n) { return Mask(_mm256_castsi256_ps(first_bits(n))); }
inline Vec load_first(const float* p, std::size_t n) { return {_mm256_maskload_ps(p, first_bits(n))}; }
/// By halves: a masked store is some forty operations on Zen 2 and 3.
inline void store_first(float* p, Vec x, std::size_t n) {
  if (n >= Vec::kLanes) return _mm256_storeu_ps(p, x.v);
  __m128 rest = _mm256_castps256_ps128(x.v);
  if (n & 4) {
    _mm_storeu_ps(p, rest);
    rest = _mm256_extractf128_ps(x.v, 1);
    p += 4;
  }
  if (n & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
    rest = _mm_movehl_ps(rest, rest);
    p += 2;
  }
  if (n & 1) _mm_store_ss(p, rest);
}
inline Lanes lanes_between(std::size_t begin, std::size_t end) {
  return _mm256_andnot_si256(first_bits(begin), first_bits(end));
}
inline Vec merge_lanes(Vec x, const float* p, Lanes lanes) {
  return {_mm256_blendv_ps(x.v, _mm256_maskload_ps(p, lanes), _mm256_castsi256_ps(lanes))};
}
#else
inline Mask first_lanes(std::size_t n) {
  constexpr float kLane[Vec::kLanes] = {0, 1, 2, 3};
  return Batch::load_unaligned(kLane) < Batch(static_cast<float>(n));
}
struct Lanes {
  std::size_t begin;
  std::size_t end;
};
inline Lanes lanes_between(std::size_t begin, std::size_t end) { return {begin, end}; }
inline Vec merge_lanes(Vec x, const float* p, Lanes lanes) {
  Batch::register_type merged = x.v;
  for (std::size_t i = lanes.begin; i < lanes.end; ++i) merged[i] = p[i];
  return {merged};
}
inline Vec load_first(const float* p, std::size_t n) { return merge_lanes({Batch(0.0f)}, p, {0, n}); }
inline void store_first(float* p, Vec x, std::size_t n) {
  const Batch::register_type lanes = x.v;
  for (std::size_t i = 0; i < n; ++i) p[i] = lanes[i];
}
#endif

/// p[0], p[2], p[4] and so on, of which p[2 * lanes - 1] is readable too: xsimd has them as complex numbers alone.
#if defined(__AVX512F__)
inline Vec load_even(const float* p) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return {_mm512_permutex2var_ps(_mm512_loadu_ps(p), even, _mm512_loadu_ps(p + 16))};
}
#elif defined(__AVX2__)
inline Vec load_even(const float* p) {
  const __m256 halves = _mm256_shuffle_ps(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8), 0x88);
  return {_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(halves), 0xD8))};
}
#else
inline Vec load_even(const float* p) {
  const float lanes[Vec::kLanes] = {p[0], p[2], p[4], p[6]};
  return {Batch::load_unaligned(lanes)};
}
#endif

// Folds the lanes: halves on each other until four are left, then i on i + 2, then two. xsimd's hadd has another order
// on each tier, and there is none for maxima.
#if defined(__AVX2__)
template <class Fold>
inline float fold_half(xsimd::batch<float, xsimd::avx2> x, Fold fold) {
  using Quad = xsimd::batch<float, xsimd::sse2>;
  const Quad four = fold(Quad(_mm256_castps256_ps128(x)), Quad(_mm256_extractf128_ps(x, 1)));
  const Quad two = fold(four, Quad(_mm_movehl_ps(four, four)));
  return _mm_cvtss_f32(fold(two, Quad(_mm_shuffle_ps(two, two, 1))));
}
#endif
template <class Fold>
inline float fold_lanes(Vec x, Fold fold) {
#if defined(__AVX512F__)
  using Half = xsimd::batch<float, xsimd::avx2>;
  return fold_half(fold(Half(_mm512_castps512_ps256(x.v)), Half(_mm512_extractf32x8_ps(x.v, 1))), fold);
#elif defined(__AVX2__)
  return fold_half(x.v, fold);
#else
  const Batch::register_type lanes = x.v;
  return fold(fold(lanes[0], lanes[2]), fold(lanes[1], lanes[3]));
#endif
}
inline float larger(float a, float b) { return a > b ? a : b; }
template <class Arch>
inline xsimd::batch<float, Arch> larger(xsimd::batch<float, Arch> a, xsimd::batch<float, Arch> b) {
  return xsimd::max(a, b);
}

#if defined(__AVX512F__)
#pragma GCC diagnostic pop
#endif

}  // namespace
}  // namespace colonnade::kernels
