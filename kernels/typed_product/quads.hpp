// SPDX-License-Identifier: Apache-2.0
// Bytes by bytes where an instruction adds four products to a sum. It takes unsigned bytes by signed ones: those of
// the right matrix become unsigned, those of the left signed, by 128 more or less, and sums make up for it.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/base/simd.hpp"
#include "kernels/typed_product/generic.hpp"

#if defined(__AVX512VNNI__)
namespace colonnade::kernels::typed_product {
namespace {

inline constexpr std::size_t kTerms = 4, kStepBytes = kPanel * kTerms;
/// Rows and panels of a tile: their sums fill registers but for a vector of each panel and the elements of a row.
inline constexpr std::size_t kTileRows = 6, kTilePanels = 4;

/// By what bytes of the left matrix were less, and those of the right one more.
template <class A>
inline constexpr std::uint32_t kLess = std::is_same_v<A, std::uint8_t> ? 128 : 0;
template <class B>
inline constexpr std::uint32_t kMore = std::is_same_v<B, std::int8_t> ? 128 : 0;

/// In every lane; sums wrap around.
inline __m512i lanes(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }

/// sum + four products a lane, of unsigned bytes by signed ones. GCC 12 copies sums around the intrinsic.
[[gnu::always_inline]] inline void add_quads(__m512i& sum, __m512i of_unsigned, __m512i of_signed) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(of_unsigned), "v"(of_signed));
}

inline __mmask16 first_columns(std::size_t count) {
  return static_cast<__mmask16>(count < kPanel ? (1u << count) - 1 : 0xffff);
}
inline __mmask64 first_bytes(std::size_t count) {
  return count < kVectorBytes ? (__mmask64{1} << count) - 1 : ~__mmask64{0};
}

/// Of kTilePanels panels.
struct Quads {
  __m512i of[kTilePanels];
};

/// Columns of up to four rows, each column's bytes side by side, zeros where there are none; the lanes of 128 bits as
/// instructions leave them: by_panels' transposed.
[[gnu::always_inline]] inline Quads side_by_side(const std::uint8_t* rows, std::ptrdiff_t stride, std::size_t count,
                                                 __mmask64 columns) {
  const auto row = [&](std::size_t i) __attribute__((always_inline)) {
    return _mm512_maskz_loadu_epi8(i < count ? columns : __mmask64{0}, rows + static_cast<std::ptrdiff_t>(i) * stride);
  };
  const __m512i a = row(0), b = row(1), c = row(2), d = row(3);
  const __m512i low_ab = _mm512_unpacklo_epi8(a, b), high_ab = _mm512_unpackhi_epi8(a, b);
  const __m512i low_cd = _mm512_unpacklo_epi8(c, d), high_cd = _mm512_unpackhi_epi8(c, d);
  return {{_mm512_unpacklo_epi16(low_ab, low_cd), _mm512_unpackhi_epi16(low_ab, low_cd),
           _mm512_unpacklo_epi16(high_ab, high_cd), _mm512_unpackhi_epi16(high_ab, high_cd)}};
}

/// Lane j of vector i becomes lane i of vector j.
[[gnu::always_inline]] inline Quads by_panels(const Quads& x) {
  const __m512i a = _mm512_shuffle_i32x4(x.of[0], x.of[1], 0x44), b = _mm512_shuffle_i32x4(x.of[2], x.of[3], 0x44);
  const __m512i c = _mm512_shuffle_i32x4(x.of[0], x.of[1], 0xee), d = _mm512_shuffle_i32x4(x.of[2], x.of[3], 0xee);
  return {{_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd), _mm512_shuffle_i32x4(c, d, 0x88),
           _mm512_shuffle_i32x4(c, d, 0xdd)}};
}

/// Quads of columns whose elements follow each other or lie anywhere, panel by panel.
inline Quads gathered(const PackArgs& args, std::size_t first, std::size_t columns, std::size_t k) {
  alignas(64) std::uint8_t quads[kTilePanels * kStepBytes] = {};
  const std::size_t count = args.k - k < kTerms ? args.k - k : kTerms;
  const auto* from = static_cast<const std::uint8_t*>(args.from) + static_cast<std::ptrdiff_t>(k) * args.k_stride +
                     static_cast<std::ptrdiff_t>(first) * args.n_stride;
  for (std::size_t n = 0; n < columns; ++n, from += args.n_stride)
    if (args.k_stride == 1 && count == kTerms)
      std::memcpy(quads + n * kTerms, from, kTerms);
    else
      for (std::size_t i = 0; i < count; ++i)
        quads[n * kTerms + i] = from[static_cast<std::ptrdiff_t>(i) * args.k_stride];
  Quads made;
  for (std::size_t p = 0; p < kTilePanels; ++p) made.of[p] = _mm512_load_si512(quads + p * kStepBytes);
  return made;
}

/// Rows too far apart to be foreseen.
[[gnu::always_inline]] inline void ask_ahead(const std::uint8_t* rows, std::ptrdiff_t stride, std::size_t left) {
  constexpr std::size_t kAhead = 16;
  for (std::size_t i = kAhead; i < kAhead + kTerms && i < left; ++i)
    __builtin_prefetch(rows + static_cast<std::ptrdiff_t>(i) * stride);
}

/// Up to kTilePanels panels at once: [sums of columns as int32, (k + 3) / 4 steps of quads] each.
template <class B>
inline void pack_panels(const PackArgs& args, std::size_t first, std::size_t panels, std::uint8_t* to) {
  const __m512i more = _mm512_set1_epi8(static_cast<char>(kMore<B>)), one = _mm512_set1_epi8(1);
  const std::size_t panel = panel_bytes(kTerms, Type::u8, args.k), steps = (args.k + kTerms - 1) / kTerms;
  const std::size_t left = args.n - first, columns = left < kTilePanels * kPanel ? left : kTilePanels * kPanel;
  const auto* rows = static_cast<const std::uint8_t*>(args.from) + static_cast<std::ptrdiff_t>(first) * args.n_stride;
  __m512i sums[kTilePanels] = {};
  for (std::size_t k = 0; k < args.k; k += kTerms, rows += static_cast<std::ptrdiff_t>(kTerms) * args.k_stride) {
    if (args.n_stride == 1) ask_ahead(rows, args.k_stride, args.k - k);
    const Quads bytes = args.n_stride == 1
                            ? by_panels(side_by_side(rows, args.k_stride, args.k - k, first_bytes(columns)))
                            : gathered(args, first, columns, k);
#pragma GCC unroll 4
    for (std::size_t p = 0; p < kTilePanels; ++p) {
      const __m512i quads = _mm512_xor_si512(bytes.of[p], more);
      add_quads(sums[p], quads, one);
      if (p < panels) _mm512_storeu_si512(to + p * panel + (1 + k / kTerms) * kStepBytes, quads);
    }
  }
  const __m512i of_more = lanes(kMore<B> * static_cast<std::uint32_t>(steps * kTerms));
  for (std::size_t p = 0; p < panels; ++p) _mm512_storeu_si512(to + p * panel, _mm512_sub_epi32(sums[p], of_more));
}

template <class B>
inline void pack_quads(const PackArgs& args) noexcept {
  auto* to = static_cast<std::uint8_t*>(args.to);
  const std::size_t panel = panel_bytes(kTerms, Type::u8, args.k), count = (args.n + kPanel - 1) / kPanel;
  for (std::size_t p = 0; p < count; p += kTilePanels)
    pack_panels<B>(args, p * kPanel, count - p < kTilePanels ? count - p : kTilePanels, to + p * panel);
}

/// A row of the left matrix as signed bytes, zeros up to whole steps; their sum.
template <class A>
inline std::int32_t make_row(const std::uint8_t* from, const ProductArgs& args, std::uint8_t* to) {
  const std::size_t whole = (args.k + kTerms - 1) / kTerms * kTerms;
  const __m512i less = _mm512_set1_epi8(static_cast<char>(kLess<A>)), one = _mm512_set1_epi8(1);
  if (args.k_stride != 1) {
    for (std::size_t k = 0; k < args.k; ++k) to[k] = from[static_cast<std::ptrdiff_t>(k) * args.k_stride];
    from = to;
  }
  __m512i sum = _mm512_setzero_si512();
  for (std::size_t k = 0; k < args.k; k += kVectorBytes) {
    const __mmask64 mask = first_bytes(args.k - k);
    const __m512i bytes = _mm512_maskz_mov_epi8(mask, _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, from + k), less));
    add_quads(sum, one, bytes);
    _mm512_mask_storeu_epi8(to + k, first_bytes(whole - k), bytes);
  }
  return _mm512_reduce_add_epi32(sum);
}

/// All rows as make_row has them in the args' room; their sums behind them.
template <class A>
inline std::int32_t* make_rows(const ProductArgs& args, std::size_t steps) {
  auto* const rows = static_cast<std::uint8_t*>(args.room);
  auto* const sums = reinterpret_cast<std::int32_t*>(rows + args.m * steps * kTerms);
  const auto* from = static_cast<const std::uint8_t*>(args.a);
  for (std::size_t m = 0; m < args.m; ++m, from += args.m_stride)
    sums[m] = make_row<A>(from, args, rows + m * steps * kTerms);
  return sums;
}

/// What sums of products of the bytes made here are more than those of the elements less their zero points, and the
/// bias: sum (a + less)(b - more) = sum ab - more sum a + less (sum b - more k), in the bytes' own sums.
struct Corrections {
  std::uint32_t less, more, of_columns;
  const std::int32_t* bias;

  /// Of columns whose elements, as they were given, have these sums.
  __m512i of(__m512i sums, std::size_t column, std::size_t left) const {
    const __m512i start =
        bias == nullptr ? _mm512_setzero_si512() : _mm512_maskz_loadu_epi32(first_columns(left), bias + column);
    return _mm512_add_epi32(start, _mm512_mullo_epi32(_mm512_sub_epi32(sums, lanes(of_columns)), lanes(less)));
  }
  __m512i of_row(std::int32_t sum) const { return lanes(more * static_cast<std::uint32_t>(sum)); }
};

template <class A, class B>
inline Corrections corrections(const ProductArgs& args) {
  const auto a_zero = static_cast<std::uint32_t>(args.a_zero), b_zero = static_cast<std::uint32_t>(args.b_zero);
  return {kLess<A> - a_zero, kMore<B> + b_zero, b_zero * static_cast<std::uint32_t>(args.k),
          static_cast<const std::int32_t*>(args.bias)};
}

/// What a tile reads and writes.
struct Tile {
  const std::uint8_t* rows;      ///< as make_row has them
  const std::int32_t* row_sums;  ///< of these
  const std::uint8_t* panels;
  std::size_t panel, steps;  ///< bytes, number
  std::size_t column, left;  ///< its first one, and how many there are from it on
  std::int32_t* out;
  std::ptrdiff_t out_stride;
};

template <std::size_t R, std::size_t P>
inline void multiply_quads(const Tile& tile, const Corrections& corrections) {
  __m512i held[R][P];
#pragma GCC unroll 4
  for (std::size_t p = 0; p < P; ++p) {
    const __m512i start = corrections.of(_mm512_loadu_si512(tile.panels + p * tile.panel), tile.column + p * kPanel,
                                         tile.left - p * kPanel);
#pragma GCC unroll 6
    for (std::size_t r = 0; r < R; ++r) held[r][p] = _mm512_sub_epi32(start, corrections.of_row(tile.row_sums[r]));
  }
  Rows<std::int32_t, R> rows(reinterpret_cast<const std::int32_t*>(tile.rows), static_cast<std::ptrdiff_t>(tile.steps));
  const std::uint8_t* quads = tile.panels + kStepBytes;
  for (std::size_t s = 0; s < tile.steps; ++s, rows.advance(kTerms), quads += kStepBytes) {
    __m512i b[P];
#pragma GCC unroll 4
    for (std::size_t p = 0; p < P; ++p) b[p] = _mm512_loadu_si512(quads + p * tile.panel);
#pragma GCC unroll 6
    for (std::size_t r = 0; r < R; ++r) {
      const __m512i a = _mm512_set1_epi32(rows.at(r));
#pragma GCC unroll 4
      for (std::size_t p = 0; p < P; ++p) add_quads(held[r][p], b[p], a);
    }
  }
#pragma GCC unroll 4
  for (std::size_t p = 0; p < P; ++p)
#pragma GCC unroll 6
    for (std::size_t r = 0; r < R; ++r)
      _mm512_mask_storeu_epi32(tile.out + static_cast<std::ptrdiff_t>(r) * tile.out_stride + p * kPanel,
                               first_columns(tile.left - p * kPanel), held[r][p]);
}

/// All rows by P panels.
template <std::size_t P>
inline void multiply_panels(std::size_t rows, Tile tile, const Corrections& corrections) {
  std::size_t m = 0;
  const auto advance = [&](std::size_t count) {
    m += count;
    tile.rows += count * tile.steps * kTerms;
    tile.row_sums += count;
    tile.out += static_cast<std::ptrdiff_t>(count) * tile.out_stride;
  };
  for (; m + kTileRows <= rows; advance(kTileRows)) multiply_quads<kTileRows, P>(tile, corrections);
  for (; m + 2 <= rows; advance(2)) multiply_quads<2, P>(tile, corrections);
  for (; m < rows; advance(1)) multiply_quads<1, P>(tile, corrections);
}

template <class A, class B>
inline void product_by_quads(const ProductArgs& args) noexcept {
  const std::size_t steps = (args.k + kTerms - 1) / kTerms, panel = panel_bytes(kTerms, Type::u8, args.k);
  const Corrections by = corrections<A, B>(args);
  const std::int32_t* const sums = make_rows<A>(args, steps);
  Tile tile{static_cast<const std::uint8_t*>(args.room),
            sums,
            static_cast<const std::uint8_t*>(args.b),
            panel,
            steps,
            0,
            args.n,
            static_cast<std::int32_t*>(args.out),
            args.out_stride};
  for (std::size_t panels; tile.column < args.n; tile.column += panels * kPanel) {
    tile.left = args.n - tile.column;
    tile.out = static_cast<std::int32_t*>(args.out) + tile.column;
    panels = tile.left > (kTilePanels - 1) * kPanel ? kTilePanels : 1;
    panels == 1 ? multiply_panels<1>(args.m, tile, by) : multiply_panels<kTilePanels>(args.m, tile, by);
    tile.panels += panels * panel;
  }
}

/// Up to 64 columns of R rows by a matrix as it lies.
template <class B, std::size_t R>
inline void multiply_columns(const ProductArgs& args, const std::int32_t* row_sums, std::size_t column,
                             const Corrections& corrections) {
  const __m512i more = _mm512_set1_epi8(static_cast<char>(kMore<B>)), one = _mm512_set1_epi8(1);
  const std::size_t steps = (args.k + kTerms - 1) / kTerms, left = args.n - column;
  const auto* b = static_cast<const std::uint8_t*>(args.b) + column;
  Quads held[R] = {}, sums = {};
  Rows<std::int32_t, R> rows(static_cast<const std::int32_t*>(args.room), static_cast<std::ptrdiff_t>(steps));
  for (std::size_t k = 0; k < args.k; k += kTerms, rows.advance(kTerms), b += kTerms * args.b_stride) {
    ask_ahead(b, args.b_stride, args.k - k);
    Quads quads = side_by_side(b, args.b_stride, args.k - k, first_bytes(left));
#pragma GCC unroll 4
    for (std::size_t p = 0; p < kTilePanels; ++p) {
      quads.of[p] = _mm512_xor_si512(quads.of[p], more);
      add_quads(sums.of[p], quads.of[p], one);
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < R; ++r) {
      const __m512i a = _mm512_set1_epi32(rows.at(r));
#pragma GCC unroll 4
      for (std::size_t p = 0; p < kTilePanels; ++p) add_quads(held[r].of[p], quads.of[p], a);
    }
  }
  sums = by_panels(sums);
  const __m512i of_more = lanes(kMore<B> * static_cast<std::uint32_t>(steps * kTerms));
#pragma GCC unroll 4
  for (std::size_t r = 0; r < R; ++r) {
    held[r] = by_panels(held[r]);
    auto* out = static_cast<std::int32_t*>(args.out) + static_cast<std::ptrdiff_t>(r) * args.out_stride + column;
    for (std::size_t p = 0; p < kTilePanels && p * kPanel < left; ++p) {
      const __m512i start =
          corrections.of(_mm512_sub_epi32(sums.of[p], of_more), column + p * kPanel, left - p * kPanel);
      const __m512i sum = _mm512_add_epi32(held[r].of[p], _mm512_sub_epi32(start, corrections.of_row(row_sums[r])));
      _mm512_mask_storeu_epi32(out + p * kPanel, first_columns(left - p * kPanel), sum);
    }
  }
}

template <class A, class B>
inline void few_rows_by_quads(const ProductArgs& args) noexcept {
  const std::int32_t* const sums = make_rows<A>(args, (args.k + kTerms - 1) / kTerms);
  const Corrections by = corrections<A, B>(args);
  for (std::size_t column = 0; column < args.n; column += kTilePanels * kPanel) {
    if (args.m == 1) multiply_columns<B, 1>(args, sums, column, by);
    if (args.m == 2) multiply_columns<B, 2>(args, sums, column, by);
    if (args.m == 3) multiply_columns<B, 3>(args, sums, column, by);
    if (args.m == kFewRows) multiply_columns<B, kFewRows>(args, sums, column, by);
  }
}

}  // namespace
}  // namespace colonnade::kernels::typed_product
#endif
