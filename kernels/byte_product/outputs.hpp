// SPDX-License-Identifier: Apache-2.0
// How vectors of sums become outputs.
#pragma once

#include "kernels/byte_product/vector.hpp"

namespace colonnade::kernels::byte_product {
namespace {

/// Vectors whose bytes fill a vector.
inline constexpr std::size_t kByteVectors = 4;
inline constexpr std::size_t kByteLanes = kByteVectors * IntVec::kLanes;
/// Whether a part of such a vector is stored at once.
#if defined(__AVX512F__)
inline constexpr bool kStoresSomeBytes = true;
#else
inline constexpr bool kStoresSomeBytes = false;
#endif

#if defined(__AVX512F__)
using Numbers = __m512;
using ByteVec = __m512i;

[[gnu::always_inline]] inline Numbers numbers_of(IntVec sums, const float* factor, const float* shift) {
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums.v), _mm512_loadu_ps(factor), _mm512_loadu_ps(shift));
}
/// Numbers below zero times their slopes.
[[gnu::always_inline]] inline Numbers bent(Numbers x, const float* slope) {
  const __mmask16 below = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ);
  return _mm512_mask_mul_ps(x, below, x, _mm512_loadu_ps(slope));
}
inline void store_first(float* p, Numbers x, std::size_t count) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1), x);
}
inline void store_first(std::int32_t* p, IntVec x, std::size_t count) {
  _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1u << count) - 1), x.v);
}
inline void store_first(std::uint8_t* p, ByteVec x, std::size_t count) {
  _mm512_mask_storeu_epi8(p, count >= kByteLanes ? ~__mmask64{0} : (__mmask64{1} << count) - 1, x);
}
template <std::size_t V>
[[gnu::always_inline]] inline void store_vectors(std::uint8_t* p, ByteVec x) {
  if constexpr (V == 4) return _mm512_storeu_si512(p, x);
  if constexpr (V >= 2) _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(x));
  if constexpr (V == 3) _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 32), _mm512_extracti32x4_epi32(x, 2));
  if constexpr (V == 1) _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_castsi512_si128(x));
}

/// Makes bytes of V vectors, V <= 4. Signed ones are unsigned ones less 128.
class Bytes {
 public:
  explicit Bytes(const Rescale& out)
      : high_(_mm512_set1_ps(out.high)),
        zero_(_mm512_set1_epi16(static_cast<short>(zero_of(out)))),
        low_(_mm512_set1_epi8(static_cast<char>(static_cast<int>(out.low) + zero_of(out)))),
        flip_(_mm512_set1_epi8(static_cast<char>(out.to == Output::i8 ? 0x80 : 0))) {}

  template <std::size_t V>
  [[gnu::always_inline]] ByteVec operator()(const Numbers (&v)[V]) const {
    __m512i pairs[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
#pragma GCC unroll 4
    for (std::size_t i = 0; i < V; i += 2) {
      const __m512i a = whole(v[i]), b = i + 1 < V ? whole(v[i + 1 < V ? i + 1 : i]) : a;
      pairs[i / 2] = _mm512_adds_epi16(_mm512_packs_epi32(a, b), zero_);
    }
    const __m512i bytes = _mm512_max_epu8(_mm512_packus_epi16(pairs[0], pairs[1]), low_);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_xor_si512(_mm512_permutexvar_epi32(order, bytes), flip_);
  }

 private:
  static int zero_of(const Rescale& out) { return out.zero + (out.to == Output::i8 ? 128 : 0); }
  /// What is no number, and what lies far below, becomes the least integer.
  [[gnu::always_inline]] __m512i whole(Numbers v) const { return _mm512_cvtps_epi32(_mm512_min_ps(high_, v)); }

  __m512 high_;
  __m512i zero_, low_, flip_;
};
#elif defined(__AVX2__)
using Numbers = __m256;
using ByteVec = __m256i;

[[gnu::always_inline]] inline Numbers numbers_of(IntVec sums, const float* factor, const float* shift) {
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums.v), _mm256_loadu_ps(factor), _mm256_loadu_ps(shift));
}
[[gnu::always_inline]] inline Numbers bent(Numbers x, const float* slope) {
  const __m256 below = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
  return _mm256_blendv_ps(x, _mm256_mul_ps(x, _mm256_loadu_ps(slope)), below);
}
inline void store_first(float* p, Numbers x, std::size_t count) { kernels::store_first(p, Vec{x}, count); }
inline void store_first(std::int32_t* p, IntVec x, std::size_t count) {
  kernels::store_first(reinterpret_cast<float*>(p), Vec{_mm256_castsi256_ps(x.v)}, count);
}
inline void store_first(std::uint8_t* p, ByteVec x, std::size_t count) {
  std::uint8_t bytes[kByteLanes];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes), x);
  std::memcpy(p, bytes, count);
}
template <std::size_t V>
[[gnu::always_inline]] inline void store_vectors(std::uint8_t* p, ByteVec x) {
  static_assert(V % 2 == 0);
  if constexpr (V == 4) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(x));
}

class Bytes {
 public:
  explicit Bytes(const Rescale& out)
      : high_(_mm256_set1_ps(out.high)),
        zero_(_mm256_set1_epi16(static_cast<short>(zero_of(out)))),
        low_(_mm256_set1_epi8(static_cast<char>(static_cast<int>(out.low) + zero_of(out)))),
        flip_(_mm256_set1_epi8(static_cast<char>(out.to == Output::i8 ? 0x80 : 0))) {}

  template <std::size_t V>
  [[gnu::always_inline]] ByteVec operator()(const Numbers (&v)[V]) const {
    __m256i pairs[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
#pragma GCC unroll 4
    for (std::size_t i = 0; i + 1 < V; i += 2)
      pairs[i / 2] = _mm256_adds_epi16(_mm256_packs_epi32(whole(v[i]), whole(v[i + 1])), zero_);
    const __m256i bytes = _mm256_max_epu8(_mm256_packus_epi16(pairs[0], pairs[1]), low_);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    return _mm256_xor_si256(_mm256_permutevar8x32_epi32(bytes, order), flip_);
  }

 private:
  static int zero_of(const Rescale& out) { return out.zero + (out.to == Output::i8 ? 128 : 0); }
  [[gnu::always_inline]] __m256i whole(Numbers v) const { return _mm256_cvtps_epi32(_mm256_min_ps(high_, v)); }

  __m256 high_;
  __m256i zero_, low_, flip_;
};
#else
struct Numbers {
  float v[IntVec::kLanes];
};
struct ByteVec {
  std::uint8_t v[kByteLanes];
};

inline Numbers numbers_of(const IntVec& sums, const float* factor, const float* shift) {
  Numbers x;
  for (std::size_t i = 0; i < IntVec::kLanes; ++i)
    x.v[i] = __builtin_fmaf(static_cast<float>(sums.v[i]), factor[i], shift[i]);
  return x;
}
inline Numbers bent(Numbers x, const float* slope) {
  for (std::size_t i = 0; i < IntVec::kLanes; ++i)
    if (x.v[i] < 0) x.v[i] *= slope[i];
  return x;
}
inline void store_first(float* p, const Numbers& x, std::size_t count) { std::memcpy(p, x.v, count * sizeof(float)); }
inline void store_first(std::int32_t* p, const IntVec& x, std::size_t count) {
  std::memcpy(p, x.v, count * sizeof(std::int32_t));
}
inline void store_first(std::uint8_t* p, const ByteVec& x, std::size_t count) { std::memcpy(p, x.v, count); }
template <std::size_t V>
inline void store_vectors(std::uint8_t* p, const ByteVec& x) {
  std::memcpy(p, x.v, V * IntVec::kLanes);
}

class Bytes {
 public:
  explicit Bytes(const Rescale& out) : low_(out.low), high_(out.high), zero_(out.zero) {}

  template <std::size_t V>
  ByteVec operator()(const Numbers (&v)[V]) const {
    ByteVec bytes{};
    for (std::size_t i = 0; i < V; ++i)
      for (std::size_t lane = 0; lane < IntVec::kLanes; ++lane)
        bytes.v[i * IntVec::kLanes + lane] = byte_of(v[i].v[lane]);
    return bytes;
  }

 private:
  std::uint8_t byte_of(float v) const {
    const float above = v > low_ ? v : low_, within = above < high_ ? above : high_;
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(__builtin_nearbyintf(within)) + zero_);
  }

  float low_, high_;
  std::int32_t zero_;
};
#endif

/// Outputs that are made together, at most.
#if defined(__AVX512F__)
inline constexpr std::size_t kMostLanes = 128;
#else
inline constexpr std::size_t kMostLanes = 64;
#endif

/// Of some output channels: what sums start from, and how they become numbers.
struct Scales {
  alignas(64) std::int32_t start[kMostLanes];
  alignas(64) float factor[kMostLanes];
  alignas(64) float shift[kMostLanes];
  alignas(64) float slope[kMostLanes];
  alignas(64) std::int32_t tilt[kMostLanes];
  bool bends = false;  ///< slopes are not all one
  bool tilts = false;  ///< tilts are not all zero
};

/// Sets all but the starts and tilts, for `lanes` channels from one on; `count` there are, which lanes may be fewer.
inline void set_numbers(const Rescale& out, std::size_t channel, std::size_t lanes, std::size_t count, Scales& scales) {
  scales.bends = out.slope != nullptr;
  if (out.to == Output::i32) return;
  for (std::size_t i = 0; i < count; ++i, ++channel) {
    const bool is_there = i < lanes;
    scales.factor[i] = out.one_factor ? *out.factor : is_there ? out.factor[channel] : 0.0f;
    if (scales.bends) scales.slope[i] = is_there ? out.slope[channel] : 1.0f;
    scales.shift[i] = out.shift != nullptr && is_there ? out.shift[channel] : 0.0f;
  }
}

inline bool makes_bytes(const Rescale& out) { return out.to == Output::u8 || out.to == Output::i8; }

template <std::size_t Count>
[[gnu::always_inline]] inline ByteVec bytes_of(const Bytes& bytes, const IntVec* sums, const Scales& scales,
                                               std::size_t first) {
  Numbers v[Count];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < Count; ++i) {
    const std::size_t lane = (first + i) * IntVec::kLanes;
    v[i] = numbers_of(sums[i], scales.factor + lane, scales.shift + lane);
  }
  if (scales.bends) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Count; ++i) v[i] = bent(v[i], scales.slope + (first + i) * IntVec::kLanes);
  }
  return bytes(v);
}

/// Bytes of Count vectors of a pixel's sums from a lane on, of which `left` are outputs.
template <std::size_t Count>
[[gnu::always_inline]] inline void write_bytes(const Bytes& bytes, const Scales& scales, const std::int32_t* sums,
                                               std::size_t lane, std::size_t left, std::uint8_t* out) {
  IntVec group[Count];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < Count; ++i) group[i] = load_ints(sums + lane + i * IntVec::kLanes);
  const ByteVec made = bytes_of<Count>(bytes, group, scales, lane / IntVec::kLanes);
  if (left >= Count * IntVec::kLanes)
    store_vectors<Count>(out + lane, made);
  else
    store_first(out + lane, made, left);
}

/// The outputs of a pixel from its sums, of which there are whole vectors of bytes.
inline void write_pixel(const Bytes& bytes, const Rescale& rescale, const Scales& scales, std::size_t lanes,
                        const std::int32_t* sums, std::uint8_t* out) {
  if (makes_bytes(rescale)) {
    for (std::size_t lane = 0; lane < lanes; lane += kByteLanes) {
      const std::size_t left = lanes - lane;
      if (left > kByteLanes / 2)
        write_bytes<kByteVectors>(bytes, scales, sums, lane, left, out);
      else
        write_bytes<kByteVectors / 2>(bytes, scales, sums, lane, left, out);
    }
    return;
  }
  for (std::size_t lane = 0; lane < lanes; lane += IntVec::kLanes) {
    const std::size_t left = lanes - lane, count = left < IntVec::kLanes ? left : IntVec::kLanes;
    const IntVec x = load_ints(sums + lane);
    std::uint8_t* const to = out + lane * sizeof(float);
    if (rescale.to == Output::i32) {
      store_first(reinterpret_cast<std::int32_t*>(to), x, count);
    } else {
      const Numbers v = numbers_of(x, scales.factor + lane, scales.shift + lane);
      store_first(reinterpret_cast<float*>(to), scales.bends ? bent(v, scales.slope + lane) : v, count);
    }
  }
}

}  // namespace
}  // namespace colonnade::kernels::byte_product
