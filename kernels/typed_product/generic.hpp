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

/// Sums are unsigned where they are integers, since they wrap around.
template <class Element>
using SumOf = std::conditional_t<std::is_same_v<Element, double>, double,
                                 std::conditional_t<sizeof(Element) == 8, std::uint64_t, std::uint32_t>>;

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

/// A number of rows times a panel; sums [rows][kPanel] hold what they start from.
template <class In, std::size_t R>
inline void multiply_tile(const In* a, const ProductArgs& args, const SumOf<In>* panel, SumOf<In>* sums) {
  using Sum = SumOf<In>;
  using Vector = typename Vectors<Sum>::Type;
  constexpr std::size_t V = Vectors<Sum>::kOfPanel, kLanes = kPanel / V;
  Vector held[R][V];
#pragma GCC unroll 16
  for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) held[r][v] = *reinterpret_cast<const Vector*>(sums + r * kPanel + v * kLanes);
  Rows<In, R> rows(a, args.m_stride);
  const std::ptrdiff_t step = args.k_stride * static_cast<std::ptrdiff_t>(sizeof(In));
  for (std::size_t k = 0; k < args.k; ++k, rows.advance(step), panel += kPanel) {
    Vector b[V];
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) b[v] = *reinterpret_cast<const Vector*>(panel + v * kLanes);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < R; ++r) {
      const Sum x = static_cast<Sum>(rows.at(r));
#pragma GCC unroll 16
      for (std::size_t v = 0; v < V; ++v) held[r][v] += b[v] * x;
    }
  }
#pragma GCC unroll 16
  for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) *reinterpret_cast<Vector*>(sums + r * kPanel + v * kLanes) = held[r][v];
}

template <class In, std::size_t R>
inline void multiply_rows(const ProductArgs& args, std::size_t& m, std::size_t column, const SumOf<In>* panel) {
  using Sum = SumOf<In>;
  const std::size_t count = args.n - column < kPanel ? args.n - column : kPanel;
  alignas(64) Sum start[kPanel] = {};
  if (args.bias != nullptr) std::memcpy(start, static_cast<const Sum*>(args.bias) + column, count * sizeof(Sum));
  alignas(64) Sum sums[R * kPanel];
  for (; m + R <= args.m; m += R) {
    for (std::size_t r = 0; r < R; ++r) std::memcpy(sums + r * kPanel, start, sizeof start);
    multiply_tile<In, R>(static_cast<const In*>(args.a) + static_cast<std::ptrdiff_t>(m) * args.m_stride, args, panel,
                         sums);
    auto* out = static_cast<Sum*>(args.out) + static_cast<std::ptrdiff_t>(m) * args.out_stride + column;
    for (std::size_t r = 0; r < R; ++r, out += args.out_stride)
      std::memcpy(out, sums + r * kPanel, count * sizeof(Sum));
  }
}

template <class In>
inline void product(const ProductArgs& args) noexcept {
  using Sum = SumOf<In>;
  const auto* panel = static_cast<const Sum*>(args.panels);
  for (std::size_t column = 0; column < args.n; column += kPanel, panel += args.k * kPanel) {
    std::size_t m = 0;
    multiply_rows<In, Vectors<Sum>::kRows>(args, m, column, panel);
    if constexpr (Vectors<Sum>::kRows > 4) multiply_rows<In, 4>(args, m, column, panel);
    multiply_rows<In, 1>(args, m, column, panel);
  }
}

inline PackFn find_pack(Type type) noexcept {
  switch (type) {
    case Type::f64: return pack<double>;
    case Type::i8: return pack<std::int8_t>;
    case Type::u8: return pack<std::uint8_t>;
    case Type::i32: return pack<std::int32_t>;
    case Type::i64: return pack<std::int64_t>;
  }
  return nullptr;
}

inline ProductFn find_product(Type type) noexcept {
  switch (type) {
    case Type::f64: return product<double>;
    case Type::i8: return product<std::int8_t>;
    case Type::u8: return product<std::uint8_t>;
    case Type::i32: return product<std::int32_t>;
    case Type::i64: return product<std::int64_t>;
  }
  return nullptr;
}

}  // namespace
}  // namespace colonnade::kernels::typed_product
