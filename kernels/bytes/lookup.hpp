// SPDX-License-Identifier: Apache-2.0
// Elements of tables of 256 by bytes.
#pragma once

#include <cstring>

#include "kernels/bytes/round.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace colonnade::kernels::bytes {
namespace {

template <class T>
inline void lookup_each(const std::uint8_t* in, const T* table, T* out, std::size_t count) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < count; ++i) out[i] = table[in[i]];
}

template <class T>
class Lines {
 public:
  explicit Lines(const T* table) : table_(table) {}
  void operator()(const std::uint8_t* in, T* out, std::size_t count) const { lookup_each(in, table_, out, count); }

 private:
  const T* table_;
};

#if defined(__AVX512BW__)
/// Pairs of neighbouring elements in four registers.
class Entries {
 public:
  explicit Entries(const std::uint8_t* table) {
    for (int i = 0; i < 4; ++i) pairs_[i] = _mm512_loadu_si512(table + 64 * i);
  }
  __m512i operator()(__m512i x) const {
    const __m512i low = _mm512_set1_epi16(0xff);
    const __m512i even = of_words(_mm512_and_si512(x, low)), odd = of_words(_mm512_srli_epi16(x, 8));
    return _mm512_mask_mov_epi8(even, 0xaaaaaaaaaaaaaaaaull, _mm512_slli_epi16(odd, 8));
  }

 private:
  /// In the lower byte of each word the element of a word below 256.
  __m512i of_words(__m512i x) const {
    const __m512i pair = _mm512_srli_epi16(x, 1);
    const __m512i first = _mm512_permutex2var_epi16(pairs_[0], pair, pairs_[1]);
    const __m512i last = _mm512_permutex2var_epi16(pairs_[2], pair, pairs_[3]);
    const __mmask32 upper = _mm512_test_epi16_mask(x, _mm512_set1_epi16(0x80));
    const __m512i shift = _mm512_slli_epi16(_mm512_and_si512(x, _mm512_set1_epi16(1)), 3);
    return _mm512_srlv_epi16(_mm512_mask_mov_epi16(first, upper, last), shift);
  }
  __m512i pairs_[4];
};

/// Masked loads are slow on some processors where they reach over lines of the cache: no wider than need be.
inline __m512i load_first(const std::uint8_t* in, std::size_t count) {
  if (count == 32) return _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in)));
  if (count < 32) return _mm512_zextsi256_si512(_mm256_maskz_loadu_epi8((1u << count) - 1, in));
  return _mm512_maskz_loadu_epi8(~__mmask64{0} >> (64 - count), in);
}
/// Whole vectors where it can: masked stores of bytes are slow on some processors.
inline void store_first(std::uint8_t* out, __m512i x, std::size_t count) {
  __m256i half = _mm512_castsi512_si256(x);
  if (count >= 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), half);
    half = _mm512_extracti64x4_epi64(x, 1);
    out += 32, count -= 32;
  }
  __m128i quarter = _mm256_castsi256_si128(half);
  if (count >= 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), quarter);
    quarter = _mm256_extracti128_si256(half, 1);
    out += 16, count -= 16;
  }
  if (count > 0) _mm_mask_storeu_epi8(out, static_cast<__mmask16>((1u << count) - 1), quarter);
}

/// Lines of bytes through one table.
class ByteLines {
 public:
  explicit ByteLines(const std::uint8_t* table) : entries_(table) {}
  void operator()(const std::uint8_t* in, std::uint8_t* out, std::size_t count) const {
    std::size_t i = 0;
    for (; i + 64 <= count; i += 64) _mm512_storeu_si512(out + i, entries_(_mm512_loadu_si512(in + i)));
    if (i < count) store_first(out + i, entries_(load_first(in + i, count - i)), count - i);
  }

 private:
  Entries entries_;
};
#elif defined(__AVX2__)
/// Sixteen elements a register in both halves, chosen by the lower four bits of a byte; the upper ones choose
/// registers.
class Entries {
 public:
  explicit Entries(const std::uint8_t* table) {
    for (int i = 0; i < 16; ++i)
      rows_[i] = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * i)));
  }
  __m256i operator()(__m256i x) const {
    const __m256i at = _mm256_and_si256(x, _mm256_set1_epi8(15)), bit4 = _mm256_slli_epi16(x, 3);
    const __m256i bit5 = _mm256_slli_epi16(x, 2), bit6 = _mm256_slli_epi16(x, 1);
    const auto two = [&](int row) {
      return _mm256_blendv_epi8(_mm256_shuffle_epi8(rows_[row], at), _mm256_shuffle_epi8(rows_[row + 1], at), bit4);
    };
    const auto four = [&](int row) { return _mm256_blendv_epi8(two(row), two(row + 2), bit5); };
    const auto eight = [&](int row) { return _mm256_blendv_epi8(four(row), four(row + 4), bit6); };
    return _mm256_blendv_epi8(eight(0), eight(8), x);
  }

 private:
  __m256i rows_[16];
};

/// Lines of bytes through one table.
class ByteLines {
 public:
  explicit ByteLines(const std::uint8_t* table) : table_(table), entries_(table) {}
  void operator()(const std::uint8_t* in, std::uint8_t* out, std::size_t count) const {
    std::size_t i = 0;
    for (; i + 32 <= count; i += 32)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                          entries_(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i))));
    lookup_each(in + i, table_, out + i, count - i);
  }

 private:
  const std::uint8_t* table_;
  Entries entries_;
};
#else
using ByteLines = Lines<std::uint8_t>;
#endif

template <class T, class LinesOfT>
void lookup_by(const LookupArgs& args) noexcept {
  Pixels rows = args.rows;
  join(rows);
  const std::uint8_t* in = args.in;
  auto* out = static_cast<T*>(args.out);
  const LinesOfT line(static_cast<const T*>(args.table));
  for (std::size_t p = 0; p < rows.pixels; ++p, in += rows.in_pixel_stride, out += rows.out_pixel_stride)
    line(in, out, rows.channels);
}

}  // namespace
}  // namespace colonnade::kernels::bytes
