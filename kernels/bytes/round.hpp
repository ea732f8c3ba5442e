// SPDX-License-Identifier: Apache-2.0
// Floats and bytes as each other. Rounding is by additions alone, which every tier does alike.
#pragma once

#include <limits>
#include <type_traits>

#include "kernels/base/simd.hpp"
#include "kernels/bytes/bytes.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace colonnade::kernels::bytes {
namespace {

inline constexpr std::size_t kLanes = Vec::kLanes;
/// Bytes that are made together.
inline constexpr std::size_t kGroup = 4 * kLanes;

template <class T>
inline constexpr float kLow = static_cast<float>(std::numeric_limits<T>::min());
template <class T>
inline constexpr float kHigh = static_cast<float>(std::numeric_limits<T>::max());

/// The unit in the last place of this sum is one.
inline constexpr float kShift = 12582912.0f;

/// x to the nearest integer, from halfway to the even one; |x| < 2^22.
inline std::int32_t rounded(float x) {
  return __builtin_bit_cast(std::int32_t, x + kShift) - __builtin_bit_cast(std::int32_t, kShift);
}

/// NaN becomes low.
inline float clamped(float x, float low, float high) {
  const float raised = x > low ? x : low;
  return raised < high ? raised : high;
}
inline Vec clamped(Vec x, Vec low, Vec high) { return min(max(x, low), high); }

/// Products are exact, and what sums lose goes into their last bit: rounded to odd, they keep what the rounding to
/// float has to know.
template <std::size_t kCount>
inline void fuse(const float* a, const float* b, const float* c, float* out) {
  for (std::size_t i = 0; i < kCount; ++i) {
    const double product = static_cast<double>(a[i]) * static_cast<double>(b[i]), addend = static_cast<double>(c[i]);
    const double sum = product + addend, part = sum - product;
    const double error = (product - (sum - part)) + (addend - part);
    const auto bits = __builtin_bit_cast(std::int64_t, sum);
    const std::int64_t inexact = static_cast<std::int64_t>(error > 0.0) | static_cast<std::int64_t>(error < 0.0);
    const std::int64_t outward = 1 - 2 * static_cast<std::int64_t>((error > 0.0) != (sum > 0.0));
    out[i] = static_cast<float>(__builtin_bit_cast(double, bits + (inexact & ~bits & 1) * outward));
  }
}

/// a * b + c, rounded once.
inline float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(a, b, c);
#else
  float sum;
  fuse<1>(&a, &b, &c, &sum);
  return sum;
#endif
}
inline Vec fused(Vec a, Vec b, Vec c) {
#if defined(__FMA__) || (defined(__ARM_FEATURE_FMA) && !defined(COLONNADE_PORTABLE_VECTORS))
  return fma(a, b, c);
#else
  float x[kLanes], y[kLanes], z[kLanes], sum[kLanes];
  store(x, a);
  store(y, b);
  store(z, c);
  fuse<kLanes>(x, y, z, sum);
  return load(sum);
#endif
}

/// kLanes bytes as floats.
template <class T>
inline Vec widened(const T* in) {
#if defined(__AVX512F__)
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
  return {_mm512_cvtepi32_ps(std::is_unsigned_v<T> ? _mm512_cvtepu8_epi32(x) : _mm512_cvtepi8_epi32(x))};
#elif defined(__AVX2__)
  const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in));
  return {_mm256_cvtepi32_ps(std::is_unsigned_v<T> ? _mm256_cvtepu8_epi32(x) : _mm256_cvtepi8_epi32(x))};
#elif defined(__SSE2__) && !defined(COLONNADE_PORTABLE_VECTORS)
  std::int32_t four;
  __builtin_memcpy(&four, in, sizeof four);
  const __m128i bytes = _mm_cvtsi32_si128(four), twice = _mm_unpacklo_epi8(bytes, bytes);
  const __m128i upper = _mm_unpacklo_epi16(twice, twice);
  return {_mm_cvtepi32_ps(std::is_unsigned_v<T> ? _mm_srli_epi32(upper, 24) : _mm_srai_epi32(upper, 24))};
#else
  float lanes[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = in[i];
  return load(lanes);
#endif
}

/// kLanes bytes less a zero. With AVX2 a byte becomes the end of a float's bits, 2^23 more than it is: fewer
/// conversions.
inline Vec widened_less(const std::uint8_t* in, float zero) {
  [[maybe_unused]] constexpr float kRaise = 8388608.0f;
#if defined(__AVX512F__)
  const __m512i x = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
  const Vec raised{_mm512_castsi512_ps(_mm512_or_si512(x, _mm512_castps_si512(_mm512_set1_ps(kRaise))))};
  return raised - broadcast(kRaise + zero);
#elif defined(__AVX2__)
  const __m256i x = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(in)));
  const Vec raised{_mm256_or_ps(_mm256_castsi256_ps(x), _mm256_set1_ps(kRaise))};
  return raised - broadcast(kRaise + zero);
#else
  return widened(in) - broadcast(zero);
#endif
}

/// kGroup integers as bytes, saturated.
template <class T>
inline void store_bytes(T* out, const IntBatch (&x)[4]) {
  [[maybe_unused]] constexpr bool kUnsigned = std::is_unsigned_v<T>;
#if defined(__AVX512BW__)
  const __m512i low = _mm512_packs_epi32(x[0], x[1]), high = _mm512_packs_epi32(x[2], x[3]);
  const __m512i packed = kUnsigned ? _mm512_packus_epi16(low, high) : _mm512_packs_epi16(low, high);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(out, _mm512_permutexvar_epi32(order, packed));
#elif defined(__AVX2__)
  const __m256i low = _mm256_packs_epi32(x[0], x[1]), high = _mm256_packs_epi32(x[2], x[3]);
  const __m256i packed = kUnsigned ? _mm256_packus_epi16(low, high) : _mm256_packs_epi16(low, high);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permutevar8x32_epi32(packed, order));
#elif defined(__SSE2__) && !defined(COLONNADE_PORTABLE_VECTORS)
  const __m128i low = _mm_packs_epi32(x[0], x[1]), high = _mm_packs_epi32(x[2], x[3]);
  const __m128i packed = kUnsigned ? _mm_packus_epi16(low, high) : _mm_packs_epi16(low, high);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), packed);
#else
  for (std::size_t i = 0; i < kGroup; ++i) {
    std::int32_t lanes[kLanes];
    x[i / kLanes].store_unaligned(lanes);
    const std::int32_t value = lanes[i % kLanes];
    constexpr std::int32_t kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
    out[i] = static_cast<T>(value < kLeast ? kLeast : value > kMost ? kMost : value);
  }
#endif
}

inline bool none(IntBatch bits) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask(bits, bits) == 0;
#elif defined(__AVX2__)
  return _mm256_testz_si256(bits, bits) != 0;
#else
  std::int32_t lanes[kLanes], any = 0;
  bits.store_unaligned(lanes);
  for (const std::int32_t lane : lanes) any |= lane;
  return any == 0;
#endif
}

/// group(i) for groups that cover `count` elements, of which the last may overlap; false when they are too few.
template <class Group>
inline bool by_groups(std::size_t count, Group group) {
  if (count < kGroup) return false;
  std::size_t i = 0;
  for (; i + kGroup <= count; i += kGroup) group(i);
  if (i < count) group(count - kGroup);
  return true;
}

inline bool is_dense(std::ptrdiff_t pixel_stride, std::size_t channels) {
  return pixel_stride == static_cast<std::ptrdiff_t>(channels);
}
/// One long pixel of pixels side by side.
inline void join(Pixels& rows) {
  if (!is_dense(rows.in_pixel_stride, rows.channels) || !is_dense(rows.out_pixel_stride, rows.channels)) return;
  rows.channels *= rows.pixels;
  rows.pixels = rows.channels > 0 ? 1 : 0;
}

/// What pixels of few channels have in common is repeated up to so many values, so that several are one.
inline constexpr std::size_t kRepeated = 256;
inline std::size_t pixels_together(std::size_t pixels, std::size_t channels) {
  const std::size_t most = channels > 0 ? kRepeated / channels : 1;
  return most < 2 ? 1 : pixels < most ? pixels : most;
}
template <class T>
inline const T* repeated(const T* values, T* room, std::size_t channels, std::size_t times) {
  if (times < 2) return values;
  for (std::size_t p = 0, i = 0; p < times; ++p)
    for (std::size_t c = 0; c < channels; ++c, ++i) room[i] = values[c];
  return room;
}

}  // namespace
}  // namespace colonnade::kernels::bytes
