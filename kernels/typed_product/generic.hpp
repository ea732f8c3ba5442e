// SPDX-License-Identifier: Apache-2.0
// A register tile of rows times a panel, on the compiler's vectors: xsimd's would need one type a kind of sum.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/base/simd.hpp"
#include "kernels/typed_product/typed_product.hpp"

namespace colonnade::kernels::typed_product {
namespace {

#if defined(__AVX512F__)
inline constexpr std::size_t kVectorBytes = 64, kRegisters = 32;
#elif defined(__AVX2__)
inline constexpr std::size_t kVectorBytes = 32, kRegisters = 16;
#elif defined(__aarch64__)
inline constexpr std::size_t kVectorBytes = 16, kRegisters = 32;
#else
inline constexpr std::size_t kVectorBytes = 16, kRegisters = 16;
#endif

/// The widest vectors of sums.
template <class Sum>
struct Vectors {
  typedef Sum Type __attribute__((vector_size(kVectorBytes), aligned(alignof(Sum)), may_alias));
  static constexpr std::size_t kOfPanel = kPanel * sizeof(Sum) / kVectorBytes;
  /// Rows of a tile: their sums leave registers for a vector of the panel and an element of the left matrix.
  static constexpr std::size_t kRows = (kRegisters - 4) / kOfPanel < 12 ? (kRegisters - 4) / kOfPanel : 12;
};

/// Two integers of 16 bits side by side.
struct Pair {
  std::uint32_t bits;
};

/// Sums are unsigned where they are integers, since they wrap around.
template <class Element>
using SumOf = std::conditional_t<std::is_same_v<Element, double>, double,
                                 std::conditional_t<sizeof(Element) == 8, std::uint64_t, std::uint32_t>>;

/// held + b * a in each lane.
template <class Element, class Vector>
[[gnu::always_inline]] inline Vector add_product(Vector held, Vector b, Element a) {
  return held + b * static_cast<SumOf<Element>>(a);
}
/// The same of pairs: the sum of both products. Where both are of -2^15 it wraps, as sums do.
template <class Vector>
[[gnu::always_inline]] inline Vector add_product(Vector held, Vector b, Pair a) {
  const auto bits = static_cast<int>(a.bits);
#if defined(__AVX512BW__)
  return held + (Vector)_mm512_madd_epi16((__m512i)b, _mm512_set1_epi32(bits));
#elif defined(__AVX2__)
  return held + (Vector)_mm256_madd_epi16((__m256i)b, _mm256_set1_epi32(bits));
#elif defined(__SSE2__)
  return held + (Vector)_mm_madd_epi16((__m128i)b, _mm_set1_epi32(bits));
#else
  const auto low = static_cast<std::uint32_t>(static_cast<std::int16_t>(bits));
  const auto high = static_cast<std::uint32_t>(bits >> 16);
  typedef std::int32_t Signed __attribute__((vector_size(sizeof(Vector))));
  return held + (Vector)(((Signed)(b << 16)) >> 16) * low + (Vector)((Signed)b >> 16) * high;
#endif
}

template <class In>
inline void pack(const PackArgs& args) noexcept {
  using Sum = SumOf<In>;
  auto* to = static_cast<Sum*>(args.to);
  for (std::size_t first = 0; first < args.n; first += kPanel) {
    const std::size_t count = args.n - first < kPanel ? args.n - first : kPanel;
    const auto* from = static_cast<const In*>(args.from) + static_cast<std::ptrdiff_t>(first) * args.n_stride;
    for (std::size_t k = 0; k < args.k; ++k, from += args.k_stride, to += kPanel) {
      if (args.n_stride == 1 && count == kPanel) {
        for (std::size_t i = 0; i < kPanel; ++i) to[i] = static_cast<Sum>(from[i]);
        continue;
      }
      for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<Sum>(from[static_cast<std::ptrdiff_t>(i) * args.n_stride]);
      for (std::size_t i = count; i < kPanel; ++i) to[i] = 0;
    }
  }
}

/// As many elements as a row of a panel has, wherever they lie.
template <class Element>
struct RowOf {
  typedef Element Type __attribute__((vector_size(kPanel * sizeof(Element)), aligned(alignof(Element)), may_alias));
};

/// A row of a panel by pairs: elements of two rows of the right matrix side by side, the second one zeros where there
/// is none.
template <class In>
[[gnu::always_inline]] inline void pack_pairs(const In* first, const In* second, std::ptrdiff_t stride,
                                              std::size_t count, std::int16_t zero, std::int16_t* to) {
  if (stride == 1 && count == kPanel && second != nullptr) {
    // not by memcpy: GCC would take the halves of a vector through general registers
    using Elements = typename RowOf<In>::Type;
    using Wide = typename RowOf<std::int16_t>::Type;
    const Wide x = __builtin_convertvector(*reinterpret_cast<const Elements*>(first), Wide) - zero;
    const Wide y = __builtin_convertvector(*reinterpret_cast<const Elements*>(second), Wide) - zero;
    auto* const pairs = reinterpret_cast<Wide*>(to);
    pairs[0] = __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    pairs[1] = __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    return;
  }
  for (std::size_t i = 0; i < kPanel; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i) * stride;
    to[2 * i] = static_cast<std::int16_t>(i < count ? first[at] - zero : 0);
    to[2 * i + 1] = static_cast<std::int16_t>(i < count && second != nullptr ? second[at] - zero : 0);
  }
}

/// A transposed matrix: elements of a pair lie side by side.
template <class In>
inline void pack_transposed(const PackArgs& args) noexcept {
  const auto* from = static_cast<const In*>(args.from);
  auto* to = static_cast<std::uint32_t*>(args.to);
  const auto half = [zero = args.zero](In element) {
    return std::uint32_t{static_cast<std::uint16_t>(element - zero)};
  };
  for (std::size_t first = 0; first < args.n;
       first += kPanel, from += static_cast<std::ptrdiff_t>(kPanel) * args.n_stride) {
    const std::size_t count = args.n - first < kPanel ? args.n - first : kPanel;
    for (std::size_t k = 0; k < args.k; k += 2, to += kPanel) {
      const bool whole = k + 1 < args.k;
      const In* at = from + k;
      for (std::size_t i = 0; i < count; ++i, at += args.n_stride)
        to[i] = half(at[0]) | (whole ? half(at[1]) << 16 : 0);
      for (std::size_t i = count; i < kPanel; ++i) to[i] = 0;
    }
  }
}

/// Row by row through all panels: lines of the matrix are read once.
template <class In>
inline void pack_by_pairs(const PackArgs& args) noexcept {
  if (args.k_stride == 1 && args.n_stride != 1) return pack_transposed<In>(args);
  constexpr std::size_t kAhead = 16;  // rows too far apart to be foreseen
  const auto* from = static_cast<const In*>(args.from);
  auto* to = static_cast<std::int16_t*>(args.to);
  const std::size_t panel = (args.k + 1) / 2 * 2 * kPanel;
  for (std::size_t k = 0; k < args.k; k += 2, from += 2 * args.k_stride, to += 2 * kPanel) {
    for (std::size_t ahead = kAhead; ahead < kAhead + 2 && k + ahead < args.k; ++ahead)
      __builtin_prefetch(from + static_cast<std::ptrdiff_t>(ahead) * args.k_stride);
    for (std::size_t first = 0, p = 0; first < args.n; first += kPanel, ++p) {
      const std::size_t count = args.n - first < kPanel ? args.n - first : kPanel;
      const In* at = from + static_cast<std::ptrdiff_t>(first) * args.n_stride;
      pack_pairs(at, k + 1 < args.k ? at + args.k_stride : nullptr, args.n_stride, count,
                 static_cast<std::int16_t>(args.zero), to + p * panel);
    }
  }
}

/// Elements of R rows, addressed by few registers: one for eight rows and the odd multiples of the stride.
template <class In, std::size_t R>
struct Rows {
  static constexpr std::size_t kBases = (R + 7) / 8, kOdd = R > 4 ? 4 : 2;
  const char* base[kBases];
  std::ptrdiff_t odd[kOdd];

  [[gnu::always_inline]] Rows(const In* first, std::ptrdiff_t stride) {
    const std::ptrdiff_t bytes = stride * static_cast<std::ptrdiff_t>(sizeof(In));
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kBases; ++i) {
      base[i] = reinterpret_cast<const char*>(first) + static_cast<std::ptrdiff_t>(8 * i) * bytes;
      hide(base[i]);
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kOdd; ++i) {
      odd[i] = static_cast<std::ptrdiff_t>(2 * i + 1) * bytes;
      hide(odd[i]);
    }
  }
  [[gnu::always_inline]] In at(std::size_t r) const {
    const std::size_t i = r % 8;
    const char* p = base[r / 8];
    if (i != 0) p += i % 2 == 1 ? odd[i / 2] : i == 4 ? odd[0] * 4 : odd[i / 4] * 2;
    return *reinterpret_cast<const In*>(p);
  }
  [[gnu::always_inline]] void advance(std::ptrdiff_t bytes) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kBases; ++i) base[i] += bytes;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kOdd; ++i) hide(odd[i]);
  }
};

/// A number of rows times a panel, all sums from the same start.
template <class In, std::size_t R>
inline void multiply_tile(const In* a, const ProductArgs& args, const SumOf<In>* panel, const SumOf<In>* start,
                          SumOf<In>* out, std::ptrdiff_t out_stride) {
  using Sum = SumOf<In>;
  using Vector = typename Vectors<Sum>::Type;
  constexpr std::size_t V = Vectors<Sum>::kOfPanel, kLanes = kPanel / V;
  Vector held[R][V];
#pragma GCC unroll 16
  for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) held[r][v] = *reinterpret_cast<const Vector*>(start + v * kLanes);
  Rows<In, R> rows(a, args.m_stride);
  const std::ptrdiff_t step = args.k_stride * static_cast<std::ptrdiff_t>(sizeof(In));
  for (std::size_t k = 0; k < args.k; ++k, rows.advance(step), panel += kPanel) {
    Vector b[V];
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) b[v] = *reinterpret_cast<const Vector*>(panel + v * kLanes);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < R; ++r) {
      const In x = rows.at(r);
#pragma GCC unroll 16
      for (std::size_t v = 0; v < V; ++v) held[r][v] = add_product(held[r][v], b[v], x);
    }
  }
#pragma GCC unroll 16
  for (std::size_t r = 0; r < R; ++r, out += out_stride)
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) *reinterpret_cast<Vector*>(out + v * kLanes) = held[r][v];
}

template <class In, std::size_t R>
inline void multiply_rows(const ProductArgs& args, std::size_t& m, std::size_t column, const SumOf<In>* panel) {
  using Sum = SumOf<In>;
  const std::size_t count = args.n - column < kPanel ? args.n - column : kPanel;
  alignas(64) Sum start[kPanel] = {};
  if (args.bias != nullptr) std::memcpy(start, static_cast<const Sum*>(args.bias) + column, count * sizeof(Sum));
  for (; m + R <= args.m; m += R) {
    const In* a = static_cast<const In*>(args.a) + static_cast<std::ptrdiff_t>(m) * args.m_stride;
    auto* out = static_cast<Sum*>(args.out) + static_cast<std::ptrdiff_t>(m) * args.out_stride + column;
    if (count == kPanel) {
      multiply_tile<In, R>(a, args, panel, start, out, args.out_stride);
      continue;
    }
    alignas(64) Sum sums[R * kPanel];
    multiply_tile<In, R>(a, args, panel, start, sums, kPanel);
    for (std::size_t r = 0; r < R; ++r, out += args.out_stride)
      std::memcpy(out, sums + r * kPanel, count * sizeof(Sum));
  }
}

template <class In>
inline void product(const ProductArgs& args) noexcept {
  using Sum = SumOf<In>;
  const auto* panel = static_cast<const Sum*>(args.b);
  for (std::size_t column = 0; column < args.n; column += kPanel, panel += args.k * kPanel) {
    std::size_t m = 0;
    multiply_rows<In, Vectors<Sum>::kRows>(args, m, column, panel);
    if constexpr (Vectors<Sum>::kRows > 4) multiply_rows<In, 4>(args, m, column, panel);
    multiply_rows<In, 1>(args, m, column, panel);
  }
}

/// The left matrix as pairs, rows side by side, then as that of any elements.
template <class In>
inline void product_by_pairs(const ProductArgs& args) noexcept {
  const std::size_t pairs = (args.k + 1) / 2;
  auto* to = static_cast<std::int16_t*>(args.room);
  const auto* row = static_cast<const In*>(args.a);
  const auto less_zero = [zero = static_cast<std::int16_t>(args.a_zero)](In x) {
    return static_cast<std::int16_t>(x - zero);
  };
  for (std::size_t m = 0; m < args.m; ++m, row += args.m_stride, to += 2 * pairs) {
    if (args.k_stride == 1)
      for (std::size_t k = 0; k < args.k; ++k) to[k] = less_zero(row[k]);
    else
      for (std::size_t k = 0; k < args.k; ++k) to[k] = less_zero(row[static_cast<std::ptrdiff_t>(k) * args.k_stride]);
    if (args.k % 2 == 1) to[args.k] = 0;
  }
  ProductArgs as_pairs = args;
  as_pairs.a = args.room;
  as_pairs.k = pairs;
  as_pairs.m_stride = static_cast<std::ptrdiff_t>(pairs);
  as_pairs.k_stride = 1;
  product<Pair>(as_pairs);
}

/// Elements of 16 bits or fewer on both sides are multiplied two by two.
inline std::size_t terms(Type a, Type b) noexcept { return is_narrow(a) && is_narrow(b) ? 2 : 1; }

inline PackFn find_pack(Type a, Type b) noexcept {
  const bool pairs = terms(a, b) == 2;
  switch (b) {
    case Type::f64: return pack<double>;
    case Type::i8: return pairs ? pack_by_pairs<std::int8_t> : pack<std::int8_t>;
    case Type::u8: return pairs ? pack_by_pairs<std::uint8_t> : pack<std::uint8_t>;
    case Type::i16: return pairs ? pack_by_pairs<std::int16_t> : pack<std::int16_t>;
    case Type::i32: return pack<std::int32_t>;
    case Type::i64: return pack<std::int64_t>;
  }
  return nullptr;
}

inline ProductFn no_few(Type, Type) noexcept { return nullptr; }

inline ProductFn find_product(Type a, Type b) noexcept {
  const bool pairs = terms(a, b) == 2;
  switch (a) {
    case Type::f64: return product<double>;
    case Type::i8: return pairs ? product_by_pairs<std::int8_t> : product<std::int8_t>;
    case Type::u8: return pairs ? product_by_pairs<std::uint8_t> : product<std::uint8_t>;
    case Type::i16: return pairs ? product_by_pairs<std::int16_t> : product<std::int16_t>;
    case Type::i32: return product<std::int32_t>;
    case Type::i64: return product<std::int64_t>;
  }
  return nullptr;
}

}  // namespace
}  // namespace colonnade::kernels::typed_product
