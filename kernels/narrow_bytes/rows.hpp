// SPDX-License-Identifier: Apache-2.0
// Rows of floats as bytes.
#pragma once

#include <cstring>

#include "kernels/base/simd.hpp"
#include "kernels/narrow_bytes/narrow_bytes.hpp"

namespace colonnade::kernels::narrow_bytes {
namespace {

/// The largest |x| of a block by its bits: a NaN is larger than all numbers.
struct Largest {
  std::uint32_t bits = 0;
  void meet(float x) {
    std::uint32_t of_x;
    std::memcpy(&of_x, &x, sizeof x);
    of_x &= 0x7fffffffu;
    if (of_x > bits) bits = of_x;
  }
  float value() const {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
};

/// Where the q of k lies.
template <Type kType>
constexpr std::size_t place_of(std::size_t k) {
  return kType == Type::u4 ? k / 8 * 8 + k % 2 * 4 + k % 8 / 2 : k;
}

/// Up to eight numbers; returns the sum of their q.
template <Type kType>
inline std::int32_t round_some(const float* x, std::size_t count, float inverse, std::byte* to) {
  constexpr float kMagic = 0x1.8p23f;
  std::int32_t sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    float scaled = x[k] * inverse;
    hide(scaled);  // rounded twice, as a product and to an integer: no compiler makes one step of it
    const float rounded = (scaled + kMagic) - kMagic;
    const auto q = static_cast<std::int32_t>(rounded);
    to[place_of<kType>(k)] = static_cast<std::byte>(q);
    sum += q;
  }
  return sum;
}

#if defined(__AVX2__)
inline std::uint32_t largest_of(const float* x, std::size_t count) {
  __m256i most = _mm256_setzero_si256();
  std::size_t k = 0;
  for (; k + 8 <= count; k += 8) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + k));
    most = _mm256_max_epu32(most, _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff)));
  }
  std::uint32_t lanes[8];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), most);
  Largest largest;
  for (const std::uint32_t lane : lanes)
    if (lane > largest.bits) largest.bits = lane;
  for (; k < count; ++k) largest.meet(x[k]);
  return largest.bits;
}

template <Type kType>
inline std::int32_t round_block(const float* x, std::size_t count, float inverse, std::byte* to) {
  const __m128i evens_first = _mm_setr_epi8(0, 8, 4, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m128i in_order = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i places = _mm256_broadcastsi128_si256(kType == Type::u4 ? evens_first : in_order);
  __m256i sums = _mm256_setzero_si256();
  std::size_t k = 0;
  for (; k + 8 <= count; k += 8) {
    const __m256i q = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + k), _mm256_set1_ps(inverse)));
    sums = _mm256_add_epi32(sums, q);
    const __m256i bytes = _mm256_shuffle_epi8(q, places);
    const __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + k),
                     kType == Type::u4 ? _mm_unpacklo_epi16(low, high) : _mm_unpacklo_epi32(low, high));
  }
  std::int32_t lanes[8];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), sums);
  std::uint32_t sum = 0;
  for (const std::int32_t lane : lanes) sum += static_cast<std::uint32_t>(lane);
  return static_cast<std::int32_t>(sum) + round_some<kType>(x + k, count - k, inverse, to + k);
}
#else
inline std::uint32_t largest_of(const float* x, std::size_t count) {
  Largest largest;
  for (std::size_t k = 0; k < count; ++k) largest.meet(x[k]);
  return largest.bits;
}
template <Type kType>
inline std::int32_t round_block(const float* x, std::size_t count, float inverse, std::byte* to) {
  std::int32_t sum = 0;
  for (std::size_t k = 0; k < count; k += 8)
    sum += round_some<kType>(x + k, count - k < 8 ? count - k : 8, inverse, to + k);
  return sum;
}
#endif

/// A block of a row, `count` numbers, as its record.
template <Type kType>
inline void prepare_block(const float* x, std::size_t count, std::byte* record, std::size_t bytes) {
  std::memset(record, 0, bytes);
  const float most = Largest{largest_of(x, count)}.value();
  if (most < 0x1p-100f) return;
  const bool is_finite = most - most == 0;
  const std::int32_t sum = is_finite ? round_block<kType>(x, count, 127 / most, record) : 0;
  const float row[2] = {is_finite ? most / 127 : most - most, static_cast<float>(sum)};
  std::memcpy(record + bytes - sizeof row, row, sizeof row);
}

template <Type kType>
inline void prepare(const PrepareArgs& args) noexcept {
  const Format& f = args.format;
  const std::size_t bytes = record_bytes(f);
  std::byte* record = args.prepared;
  for (std::size_t k = 0; k < f.k; k += f.block)
    for (std::size_t r = 0; r < args.rows; ++r, record += bytes)
      prepare_block<kType>(args.x + static_cast<std::ptrdiff_t>(r) * args.x_stride + k,
                           f.k - k < f.block ? f.k - k : f.block, record, bytes);
}

}  // namespace
}  // namespace colonnade::kernels::narrow_bytes
