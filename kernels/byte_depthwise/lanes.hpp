// SPDX-License-Identifier: Apache-2.0
// Registers of one, two or four lanes of 16 bytes, each lane by itself as x86 interleaves and packs. A register of
// bytes holds channels; four rows of it, interleaved, are four registers of quads: the bytes of four channels a lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace colonnade::kernels::byte_depthwise {
namespace {

/// Weights of quads lie in so many registers: as bytes where sums of four products are one instruction, else as words
/// of even and of odd bytes.
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || !defined(__SSE2__)
inline constexpr int kParts = 1;
#else
inline constexpr int kParts = 2;
#endif
#if defined(__AVX512BW__)
inline constexpr int kMostLanes = 4;
#elif defined(__AVX2__)
inline constexpr int kMostLanes = 2;
#else
inline constexpr int kMostLanes = 1;
#endif

#if defined(__SSE2__)

struct One {
  using Int = __m128i;
  using Float = __m128;
  static constexpr int kLanes = 1;
  static Int load(const void* p) { return _mm_loadu_si128(static_cast<const Int*>(p)); }
  static void store(void* p, Int x) { _mm_storeu_si128(static_cast<Int*>(p), x); }
  static Float load(const float* p) { return _mm_loadu_ps(p); }
  static Int every8(int x) { return _mm_set1_epi8(static_cast<char>(x)); }
  static Int every16(int x) { return _mm_set1_epi16(static_cast<short>(x)); }
  static Int low8(Int a, Int b) { return _mm_unpacklo_epi8(a, b); }
  static Int high8(Int a, Int b) { return _mm_unpackhi_epi8(a, b); }
  static Int low16(Int a, Int b) { return _mm_unpacklo_epi16(a, b); }
  static Int high16(Int a, Int b) { return _mm_unpackhi_epi16(a, b); }
  static Int even8(Int x) { return _mm_and_si128(x, _mm_set1_epi16(255)); }
  static Int odd8(Int x) { return _mm_srli_epi16(x, 8); }
  static Int add_pairs(Int sum, Int a, Int b) { return _mm_add_epi32(sum, _mm_madd_epi16(a, b)); }
  static Float number(Int x) { return _mm_cvtepi32_ps(x); }
  static Int round(Float x) { return _mm_cvtps_epi32(x); }
  static Int pack32(Int a, Int b) { return _mm_packs_epi32(a, b); }
  static Int pack16(Int a, Int b) { return _mm_packus_epi16(a, b); }
  static Int add16(Int a, Int b) { return _mm_adds_epi16(a, b); }
  static Int max8(Int a, Int b) { return _mm_max_epu8(a, b); }
  static Int min8(Int a, Int b) { return _mm_min_epu8(a, b); }
  static Int flip(Int a, Int b) { return _mm_xor_si128(a, b); }
#if defined(__FMA__)
  static Float fma(Float a, Float b, Float c) { return _mm_fmadd_ps(a, b, c); }
#else
  static Float fma(Float a, Float b, Float c) {
    for (int i = 0; i < 4; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
  }
#endif
#if defined(__AVX512VNNI__)
  static Int add_quads(Int sum, Int a, Int b) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
  }
#elif defined(__AVXVNNI__)
  static Int add_quads(Int sum, Int a, Int b) { return _mm_dpbusd_avx_epi32(sum, a, b); }
#endif
};

#if defined(__AVX2__)
struct Two {
  using Int = __m256i;
  using Float = __m256;
  static constexpr int kLanes = 2;
  static Int load(const void* p) { return _mm256_loadu_si256(static_cast<const Int*>(p)); }
  static void store(void* p, Int x) { _mm256_storeu_si256(static_cast<Int*>(p), x); }
  static Float load(const float* p) { return _mm256_loadu_ps(p); }
  static Int every8(int x) { return _mm256_set1_epi8(static_cast<char>(x)); }
  static Int every16(int x) { return _mm256_set1_epi16(static_cast<short>(x)); }
  static Int low8(Int a, Int b) { return _mm256_unpacklo_epi8(a, b); }
  static Int high8(Int a, Int b) { return _mm256_unpackhi_epi8(a, b); }
  static Int low16(Int a, Int b) { return _mm256_unpacklo_epi16(a, b); }
  static Int high16(Int a, Int b) { return _mm256_unpackhi_epi16(a, b); }
  static Int even8(Int x) { return _mm256_and_si256(x, _mm256_set1_epi16(255)); }
  static Int odd8(Int x) { return _mm256_srli_epi16(x, 8); }
  static Int add_pairs(Int sum, Int a, Int b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }
  static Float number(Int x) { return _mm256_cvtepi32_ps(x); }
  static Int round(Float x) { return _mm256_cvtps_epi32(x); }
  static Int pack32(Int a, Int b) { return _mm256_packs_epi32(a, b); }
  static Int pack16(Int a, Int b) { return _mm256_packus_epi16(a, b); }
  static Int add16(Int a, Int b) { return _mm256_adds_epi16(a, b); }
  static Int max8(Int a, Int b) { return _mm256_max_epu8(a, b); }
  static Int min8(Int a, Int b) { return _mm256_min_epu8(a, b); }
  static Int flip(Int a, Int b) { return _mm256_xor_si256(a, b); }
  static Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
#if defined(__AVX512VNNI__)
  static Int add_quads(Int sum, Int a, Int b) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
  }
#elif defined(__AVXVNNI__)
  static Int add_quads(Int sum, Int a, Int b) { return _mm256_dpbusd_avx_epi32(sum, a, b); }
#endif
};
#endif

#if defined(__AVX512BW__)
struct Four {
  using Int = __m512i;
  using Float = __m512;
  static constexpr int kLanes = 4;
  static Int load(const void* p) { return _mm512_loadu_si512(p); }
  static void store(void* p, Int x) { _mm512_storeu_si512(p, x); }
  static Float load(const float* p) { return _mm512_loadu_ps(p); }
  static Int every8(int x) { return _mm512_set1_epi8(static_cast<char>(x)); }
  static Int every16(int x) { return _mm512_set1_epi16(static_cast<short>(x)); }
  static Int low8(Int a, Int b) { return _mm512_unpacklo_epi8(a, b); }
  static Int high8(Int a, Int b) { return _mm512_unpackhi_epi8(a, b); }
  static Int low16(Int a, Int b) { return _mm512_unpacklo_epi16(a, b); }
  static Int high16(Int a, Int b) { return _mm512_unpackhi_epi16(a, b); }
  static Int even8(Int x) { return _mm512_and_si512(x, _mm512_set1_epi16(255)); }
  static Int odd8(Int x) { return _mm512_srli_epi16(x, 8); }
  static Int add_pairs(Int sum, Int a, Int b) { return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b)); }
  static Float number(Int x) { return _mm512_cvtepi32_ps(x); }
  static Int round(Float x) { return _mm512_cvtps_epi32(x); }
  static Int pack32(Int a, Int b) { return _mm512_packs_epi32(a, b); }
  static Int pack16(Int a, Int b) { return _mm512_packus_epi16(a, b); }
  static Int add16(Int a, Int b) { return _mm512_adds_epi16(a, b); }
  static Int max8(Int a, Int b) { return _mm512_max_epu8(a, b); }
  static Int min8(Int a, Int b) { return _mm512_min_epu8(a, b); }
  static Int flip(Int a, Int b) { return _mm512_xor_si512(a, b); }
  static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
#if defined(__AVX512VNNI__)
  static Int add_quads(Int sum, Int a, Int b) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
  }
#endif
};
#endif

#else
struct One {
  using Int = std::int32_t __attribute__((vector_size(16)));
  using Float = float __attribute__((vector_size(16)));
  using Words = std::int16_t __attribute__((vector_size(16)));
  using Bytes = std::uint8_t __attribute__((vector_size(16)));
  using SignedBytes = std::int8_t __attribute__((vector_size(16)));
  static constexpr int kLanes = 1;
  template <class T>
  static T load_as(const void* p) {
    T x;
    std::memcpy(&x, p, sizeof x);
    return x;
  }
  template <class T>
  static Int interleave(Int a, Int b, int from) {
    constexpr int kHalf = static_cast<int>(sizeof(T) / sizeof(T{}[0])) / 2;
    const T x = reinterpret_cast<T>(a), y = reinterpret_cast<T>(b);
    T both{};
    for (int i = 0; i < kHalf; ++i) both[2 * i] = x[from * kHalf + i], both[2 * i + 1] = y[from * kHalf + i];
    return reinterpret_cast<Int>(both);
  }
  static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

  static Int load(const void* p) { return load_as<Int>(p); }
  static void store(void* p, Int x) { std::memcpy(p, &x, sizeof x); }
  static Float load(const float* p) { return load_as<Float>(p); }
  static Int every8(int x) { return reinterpret_cast<Int>(Bytes{} + static_cast<std::uint8_t>(x)); }
  static Int every16(int x) { return reinterpret_cast<Int>(Words{} + static_cast<std::int16_t>(x)); }
  static Int low8(Int a, Int b) { return interleave<Bytes>(a, b, 0); }
  static Int high8(Int a, Int b) { return interleave<Bytes>(a, b, 1); }
  static Int low16(Int a, Int b) { return interleave<Words>(a, b, 0); }
  static Int high16(Int a, Int b) { return interleave<Words>(a, b, 1); }
  static Float number(Int x) { return __builtin_convertvector(x, Float); }
  static Int round(Float x) {
    Int y{};
    for (int i = 0; i < 4; ++i) y[i] = static_cast<int>(__builtin_rintf(x[i]));
    return y;
  }
  static Int pack32(Int a, Int b) {
    Words both{};
    for (int i = 0; i < 8; ++i)
      both[i] = static_cast<std::int16_t>(clamp(i < 4 ? a[i & 3] : b[i & 3], INT16_MIN, INT16_MAX));
    return reinterpret_cast<Int>(both);
  }
  static Int pack16(Int a, Int b) {
    const Words x = reinterpret_cast<Words>(a), y = reinterpret_cast<Words>(b);
    Bytes both{};
    for (int i = 0; i < 16; ++i) both[i] = static_cast<std::uint8_t>(clamp(i < 8 ? x[i & 7] : y[i & 7], 0, UINT8_MAX));
    return reinterpret_cast<Int>(both);
  }
  static Int add16(Int a, Int b) {
    Words x = reinterpret_cast<Words>(a), y = reinterpret_cast<Words>(b);
    for (int i = 0; i < 8; ++i) x[i] = static_cast<std::int16_t>(clamp(x[i] + y[i], INT16_MIN, INT16_MAX));
    return reinterpret_cast<Int>(x);
  }
  static Int max8(Int a, Int b) {
    const Bytes x = reinterpret_cast<Bytes>(a), y = reinterpret_cast<Bytes>(b);
    return reinterpret_cast<Int>(x > y ? x : y);
  }
  static Int min8(Int a, Int b) {
    const Bytes x = reinterpret_cast<Bytes>(a), y = reinterpret_cast<Bytes>(b);
    return reinterpret_cast<Int>(x < y ? x : y);
  }
  static Int flip(Int a, Int b) { return a ^ b; }
  static Float fma(Float a, Float b, Float c) {
    for (int i = 0; i < 4; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
  }
  static Int add_quads(Int sum, Int a, Int b) {
    const Bytes x = reinterpret_cast<Bytes>(a);
    const SignedBytes y = reinterpret_cast<SignedBytes>(b);
    for (int i = 0; i < 16; ++i) sum[i / 4] += x[i] * y[i];
    return sum;
  }
};
#endif

/// One lane that memory has fewer bytes for.
struct Few : One {};

/// n bytes, fewer than a register has for Few alone.
template <class V>
inline typename V::Int get(const std::uint8_t* p, std::size_t) {
  return V::load(p);
}
template <>
inline Few::Int get<Few>(const std::uint8_t* p, std::size_t n) {
  std::uint8_t bytes[sizeof(Few::Int)] = {};
  std::memcpy(bytes, p, n);
  return Few::load(bytes);
}
template <class V>
inline void put(std::byte* p, typename V::Int x, std::size_t) {
  V::store(p, x);
}
template <>
inline void put<Few>(std::byte* p, Few::Int x, std::size_t n) {
  std::byte bytes[sizeof x];
  Few::store(bytes, x);
  std::memcpy(p, bytes, n);
}

/// visit(registers): those of `lanes` lanes, 1, 2 or 4, for n bytes.
template <class Visit>
inline void with_lanes([[maybe_unused]] int lanes, std::size_t n, Visit visit) {
  if (n < sizeof(One::Int)) return visit(Few());
#if defined(__AVX512BW__)
  if (lanes == 4) return visit(Four());
#endif
#if defined(__AVX2__)
  if (lanes == 2) return visit(Two());
#endif
  visit(One());
}

}  // namespace
}  // namespace colonnade::kernels::byte_depthwise
