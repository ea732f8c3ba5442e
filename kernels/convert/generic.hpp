// SPDX-License-Identifier: Apache-2.0
// The conversions of every tier: blocks of floats between an element type and another, in loops that the compiler
// vectorises. Half floats are converted by instructions where a tier has them.
#pragma once

#include <cstdint>

#include "kernels/base/copy.hpp"
#include "kernels/convert/convert.hpp"
#include "kernels/convert/minifloats.hpp"

#if defined(__F16C__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace colonnade::kernels::convert {
namespace {

struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};

inline float to_float(std::uint8_t x) { return x; }
inline float to_float(std::int8_t x) { return x; }
inline float to_float(Bf16 x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x.bits) << 16;
  return float_of((bits & kMagnitude) > kInfinity ? bits | kQuiet : bits);
}
inline float to_float(F16 x) {
  const std::uint32_t sign = (x.bits & 0x8000u) << 16, magnitude = x.bits & 0x7fffu;
  const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
  const std::uint32_t shifted = magnitude << 13;
  const std::uint32_t special = shifted + 0x70000000u, nan = magnitude > 0x7c00u ? kQuiet : 0;
  const std::uint32_t normal = shifted + 0x38000000u;
  const std::uint32_t bits = magnitude >= 0x7c00u ? (special | nan) : magnitude < 0x400u ? bits_of(small) : normal;
  return float_of(sign | bits);
}

inline void from_float(float x, float& y) { y = x; }
inline void from_float(float x, Bf16& y) {
  const std::uint32_t bits = bits_of(x), rounded = bits + 0x7fffu + (bits >> 16 & 1u);
  y.bits = static_cast<std::uint16_t>(((bits & kMagnitude) > kInfinity ? bits | kQuiet : rounded) >> 16);
}
/// Below the least normal half, adding 0.5 leaves units of 2^-24, rounded to nearest even.
inline void from_float(float x, F16& y) {
  constexpr std::uint32_t kTooLarge = 0x477ff000u, kLeastNormal = 0x38800000u, kHalf = 0x3f000000u;
  const std::uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000u, magnitude = bits & kMagnitude;
  const std::uint32_t small = bits_of(float_of(magnitude < kLeastNormal ? magnitude : 0) + 0.5f) - kHalf;
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  const std::uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  const std::uint32_t half = magnitude > kInfinity      ? nan
                             : magnitude >= kTooLarge   ? 0x7c00u
                             : magnitude < kLeastNormal ? small
                                                        : normal;
  y.bits = static_cast<std::uint16_t>(sign | half);
}
inline void from_float(float x, std::uint8_t& y) {
  const float positive = x > 0.0f ? x : 0.0f;
  y = static_cast<std::uint8_t>(static_cast<std::int32_t>(positive < 255.0f ? positive : 255.0f));
}
inline void from_float(float x, std::int8_t& y) {
  const float number = x == x ? x : 0.0f;
  const float low = number > -128.0f ? number : -128.0f;
  y = static_cast<std::int8_t>(static_cast<std::int32_t>(low < 127.0f ? low : 127.0f));
}

inline constexpr std::size_t kBlock = 256;  ///< floats

template <class T>
__attribute__((noinline)) void load_floats(const T* in, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = to_float(in[i]);
}
template <class T>
__attribute__((noinline)) void store_floats(const float* in, T* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) from_float(in[i], out[i]);
}

#if defined(__F16C__)
__attribute__((noinline)) void load_floats(const F16* in, float* out, std::size_t count) {
  std::size_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= count; i += 16)
    _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i))));
#endif
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  for (; i < count; ++i) out[i] = to_float(in[i]);
}
__attribute__((noinline)) void store_floats(const float* in, F16* out, std::size_t count) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  std::size_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= count; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm512_cvtps_ph(_mm512_loadu_ps(in + i), kNearest));
#endif
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), kNearest));
  for (; i < count; ++i) from_float(in[i], out[i]);
}
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)  // which narrows vectors in one instruction
/// Eight floats as integers that a byte holds: NaN gives 0, what lies beyond an end that end.
template <class Byte>
inline __m256i in_range(const float* in) {
  const __m256 x = _mm256_loadu_ps(in);
  if constexpr (Byte(-1) < 0) {
    const __m256 number = _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
    return _mm256_cvttps_epi32(_mm256_min_ps(_mm256_max_ps(number, _mm256_set1_ps(-128)), _mm256_set1_ps(127)));
  } else {
    return _mm256_cvttps_epi32(_mm256_min_ps(_mm256_max_ps(x, _mm256_setzero_ps()), _mm256_set1_ps(255)));
  }
}
/// 32 at a time: packed within halves of vectors, then put into order.
template <class Byte>
inline void store_bytes(const float* in, Byte* out, std::size_t count) {
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m256i low = _mm256_packs_epi32(in_range<Byte>(in + i), in_range<Byte>(in + i + 8));
    const __m256i high = _mm256_packs_epi32(in_range<Byte>(in + i + 16), in_range<Byte>(in + i + 24));
    const __m256i bytes = Byte(-1) < 0 ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_permutevar8x32_epi32(bytes, order));
  }
  for (; i < count; ++i) from_float(in[i], out[i]);
}
__attribute__((noinline)) void store_floats(const float* in, std::uint8_t* out, std::size_t count) {
  store_bytes(in, out, count);
}
__attribute__((noinline)) void store_floats(const float* in, std::int8_t* out, std::size_t count) {
  store_bytes(in, out, count);
}
#endif

/// Elements side by side.
template <class From, class To>
struct Pixel {
  static void run(const From* in, To* out, std::size_t count) {
    float block[kBlock];
    for (std::size_t i = 0; i < count; i += kBlock) {
      const std::size_t n = count - i < kBlock ? count - i : kBlock;
      load_floats(in + i, block, n);
      store_floats(block, out + i, n);
    }
  }
};
template <class From>
struct Pixel<From, float> {
  static void run(const From* in, float* out, std::size_t count) { load_floats(in, out, count); }
};
template <class To>
struct Pixel<float, To> {
  static void run(const float* in, To* out, std::size_t count) { store_floats(in, out, count); }
};
template <class T>
struct Moved {
  static void run(const T* in, T* out, std::size_t count) { copy_memory(out, in, count * sizeof(T)); }
};
template <class T>
struct Pixel<T, T> : Moved<T> {};
template <>
struct Pixel<float, float> : Moved<float> {};
template <>
struct Pixel<std::uint8_t, std::int8_t> {
  static void run(const std::uint8_t* in, std::int8_t* out, std::size_t count) { copy_memory(out, in, count); }
};
template <>
struct Pixel<std::int8_t, std::uint8_t> {
  static void run(const std::int8_t* in, std::uint8_t* out, std::size_t count) { copy_memory(out, in, count); }
};

template <class From, class To>
void run(const Args& a) noexcept {
  const auto* in = static_cast<const std::byte*>(a.in);
  auto* out = static_cast<std::byte*>(a.out);
  const bool dense = a.in_pixel_stride == static_cast<std::ptrdiff_t>(a.channels * sizeof(From)) &&
                     a.out_pixel_stride == static_cast<std::ptrdiff_t>(a.channels * sizeof(To));
  const std::size_t pixels = dense && a.pixels > 0 ? 1 : a.pixels;
  const std::size_t channels = dense ? a.channels * a.pixels : a.channels;
  for (std::size_t p = 0; p < pixels; ++p, in += a.in_pixel_stride, out += a.out_pixel_stride)
    Pixel<From, To>::run(reinterpret_cast<const From*>(in), reinterpret_cast<To*>(out), channels);
}

/// Calls f(T{}) with the type's elements.
template <class F>
inline Fn with_type(Type type, F&& f) {
  switch (type) {
    case Type::f32: return f(float{});
    case Type::bf16: return f(Bf16{});
    case Type::f16: return f(F16{});
    case Type::u8: return f(std::uint8_t{});
    case Type::i8: return f(std::int8_t{});
    case Type::f8e4m3fn: return f(F8e4m3fn{});
    case Type::f8e4m3fnuz: return f(F8e4m3fnuz{});
    case Type::f8e5m2: return f(F8e5m2{});
    case Type::f8e5m2fnuz: return f(F8e5m2fnuz{});
  }
  return nullptr;
}

inline Fn function_of(Type from, Type to) noexcept {
  return with_type(from,
                   [to]<class From>(From) { return with_type(to, []<class To>(To) -> Fn { return run<From, To>; }); });
}

}  // namespace
}  // namespace colonnade::kernels::convert
