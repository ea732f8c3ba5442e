// SPDX-License-Identifier: Apache-2.0
// Matrices of elements of one or two bytes transposed: squares of one register a row, by interleaving.
#pragma once

#include <cstring>

#include "kernels/move/move.hpp"

namespace colonnade::kernels::move {
namespace {

/// Vectors of sixteen bytes, as GCC and clang have them on every tier.
template <class T>
struct Sixteen;
template <>
struct Sixteen<std::uint8_t> {
  typedef std::uint8_t Type __attribute__((vector_size(16)));
  static Type low(Type a, Type b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  }
  static Type high(Type a, Type b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  }
};
template <>
struct Sixteen<std::uint16_t> {
  typedef std::uint16_t Type __attribute__((vector_size(16)));
  static Type low(Type a, Type b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
  static Type high(Type a, Type b) { return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
};

/// Elements of a register, which are the rows and the columns of a square.
template <class T>
inline constexpr std::size_t kSide = 16 / sizeof(T);

/// Row i of the first half beside row i of the second, as often as it takes: then columns are rows.
template <class T>
inline __attribute__((always_inline)) void transpose_square(typename Sixteen<T>::Type* rows) {
  using S = Sixteen<T>;
#pragma GCC unroll 4
  for (std::size_t stage = 1; stage < kSide<T>; stage *= 2) {
    typename S::Type next[kSide<T>];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kSide<T> / 2; ++i) {
      next[2 * i] = S::low(rows[i], rows[i + kSide<T> / 2]);
      next[2 * i + 1] = S::high(rows[i], rows[i + kSide<T> / 2]);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kSide<T>; ++i) rows[i] = next[i];
  }
}

template <class T>
inline void whole_square(const T* in, std::ptrdiff_t in_stride, T* out, std::ptrdiff_t out_stride) {
  typename Sixteen<T>::Type rows[kSide<T>];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kSide<T>; ++i) std::memcpy(&rows[i], in + static_cast<std::ptrdiff_t>(i) * in_stride, 16);
  transpose_square<T>(rows);
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kSide<T>; ++i)
    std::memcpy(out + static_cast<std::ptrdiff_t>(i) * out_stride, &rows[i], 16);
}

/// Part of a square, element by element.
template <class T>
inline void part_of_square(const T* in, std::ptrdiff_t in_stride, T* out, std::ptrdiff_t out_stride, std::size_t rows,
                           std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c, out += out_stride)
    for (std::size_t r = 0; r < rows; ++r)
      out[r] = in[static_cast<std::ptrdiff_t>(r) * in_stride + static_cast<std::ptrdiff_t>(c)];
}

/// kRows lines, elements side by side: pixels of few channels.
template <class T, std::size_t kRows>
inline void few_rows(const TransposeArgs& a) {
  const auto* in = static_cast<const T*>(a.in);
  auto* out = static_cast<T*>(a.out);
  for (std::size_t c = 0; c < a.columns; ++c, ++in, out += a.out_stride)
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) out[r] = in[static_cast<std::ptrdiff_t>(r) * a.in_stride];
}
template <class T, std::size_t kColumns>
inline void few_columns(const TransposeArgs& a) {
  const auto* in = static_cast<const T*>(a.in);
  auto* out = static_cast<T*>(a.out);
  for (std::size_t r = 0; r < a.rows; ++r, in += a.in_stride, ++out)
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kColumns; ++c) out[static_cast<std::ptrdiff_t>(c) * a.out_stride] = in[c];
}

template <class T>
inline void transpose_elements(const TransposeArgs& a) {
  if (a.rows == 3) return few_rows<T, 3>(a);
  if (a.columns == 3) return few_columns<T, 3>(a);
  const auto* in = static_cast<const T*>(a.in);
  auto* out = static_cast<T*>(a.out);
  for (std::size_t c = 0; c < a.columns; c += kSide<T>)
    for (std::size_t r = 0; r < a.rows; r += kSide<T>) {
      const std::size_t height = a.rows - r < kSide<T> ? a.rows - r : kSide<T>;
      const std::size_t width = a.columns - c < kSide<T> ? a.columns - c : kSide<T>;
      const T* from = in + static_cast<std::ptrdiff_t>(r) * a.in_stride + c;
      T* to = out + static_cast<std::ptrdiff_t>(c) * a.out_stride + r;
      if (height == kSide<T> && width == kSide<T>)
        whole_square(from, a.in_stride, to, a.out_stride);
      else
        part_of_square(from, a.in_stride, to, a.out_stride, height, width);
    }
}

inline void run_transpose(const TransposeArgs& a) noexcept {
  if (a.bytes == 1) transpose_elements<std::uint8_t>(a);
  if (a.bytes == 2) transpose_elements<std::uint16_t>(a);
}

}  // namespace
}  // namespace colonnade::kernels::move
