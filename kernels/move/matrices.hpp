// SPDX-License-Identifier: Apache-2.0
// Matrices of elements of any size transposed: squares of one register a row, by interleaving, where they are no
// floats.
#pragma once

#include <cstring>

#include "kernels/move/generic.hpp"

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

template <>
struct Sixteen<std::uint64_t> {
  typedef std::uint64_t Type __attribute__((vector_size(16)));
  static Type low(Type a, Type b) { return __builtin_shufflevector(a, b, 0, 2); }
  static Type high(Type a, Type b) { return __builtin_shufflevector(a, b, 1, 3); }
};
/// An element that is a register.
struct Whole {
  std::uint64_t halves[2];
};
template <>
struct Sixteen<Whole> {
  typedef std::uint64_t Type __attribute__((vector_size(16)));
};

/// Elements of a register, which are the rows and the columns of a square.
template <class T>
inline constexpr std::size_t kSide = 16 / sizeof(T);

/// Row i of the first half beside row i of the second, as often as it takes: then columns are rows.
template <class T>
inline __attribute__((always_inline)) void transpose_square(typename Sixteen<T>::Type* rows) {
  using S = Sixteen<T>;
  if constexpr (kSide < T >> 1) {
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
}

template <class T, class From, class To>
inline void whole_square(From from, To to) {
  typename Sixteen<T>::Type rows[kSide<T>];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kSide<T>; ++i) std::memcpy(&rows[i], from[i], 16);
  transpose_square<T>(rows);
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kSide<T>; ++i) std::memcpy(to[i], &rows[i], 16);
}

/// Part of a square, element by element.
template <class From, class To>
inline void part_of_square(From from, To to, std::size_t rows, std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t r = 0; r < rows; ++r) to[c][r] = from[r][c];
}

/// Pixels of three bytes, from three planes; how many are made. Four bytes behind the last one are written too, which
/// are the next one's.
inline std::size_t three_planes(const TransposeArgs& a) {
  std::size_t c = 0;
#if defined(__SSSE3__) || defined(__ARM_NEON)
  using Bytes = Sixteen<std::uint8_t>;
  using Pairs = Sixteen<std::uint16_t>;
  const auto* in = static_cast<const std::uint8_t*>(a.in);
  auto* out = static_cast<std::uint8_t*>(a.out);
  if (a.out_stride != 3) return 0;
  for (; c + 18 <= a.columns; c += 16) {
    Bytes::Type planes[3];
    for (int i = 0; i < 3; ++i) std::memcpy(&planes[i], in + i * a.in_stride + c, 16);
    const auto [first, second, third] = planes;
    const auto low = Pairs::Type(Bytes::low(first, second)), low_third = Pairs::Type(Bytes::low(third, third));
    const auto high = Pairs::Type(Bytes::high(first, second)), high_third = Pairs::Type(Bytes::high(third, third));
    const Pairs::Type fours[4] = {Pairs::low(low, low_third), Pairs::high(low, low_third), Pairs::low(high, high_third),
                                  Pairs::high(high, high_third)};
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 4; ++k) {
      const auto four = Bytes::Type(fours[k]);
      const Bytes::Type three =
          __builtin_shufflevector(four, four, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
      std::memcpy(out + 3 * (c + 4 * k), &three, 16);
    }
  }
#else
  static_cast<void>(a);
#endif
  return c;
}

/// kRows lines, elements side by side: pixels of few channels, from one on.
template <class T, std::size_t kRows>
inline void few_rows(const TransposeArgs& a, std::size_t begin) {
  const auto* in = static_cast<const T*>(a.in) + begin;
  auto* out = static_cast<T*>(a.out) + static_cast<std::ptrdiff_t>(begin) * a.out_stride;
  for (std::size_t c = begin; c < a.columns; ++c, ++in, out += a.out_stride)
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

inline std::size_t least(std::size_t a, std::size_t b) { return a < b ? a : b; }

/// Rows [begin, end), or columns.
struct Range {
  std::size_t begin = 0, end = 0;
};

template <class T, class From, class To>
inline void transpose_lines(From from, To to, Range rows, Range columns) {
  for (std::size_t c = columns.begin; c < columns.end; c += kSide<T>)
    for (std::size_t r = rows.begin; r < rows.end; r += kSide<T>) {
      const std::size_t height = least(rows.end - r, kSide<T>), width = least(columns.end - c, kSide<T>);
      if (height == kSide<T> && width == kSide<T>)
        whole_square<T>(from.from(r, c), to.from(c, r));
      else
        part_of_square(from.from(r, c), to.from(c, r), height, width);
    }
}

/// In squares of a cache line a side: each line is read and written while it is near.
template <class T, class From, class To>
inline void transpose_squares(From from, To to, std::size_t rows, std::size_t columns) {
  constexpr std::size_t kLine = 64 / sizeof(T);
  for (std::size_t r = 0; r < rows; r += kLine)
    for (std::size_t c = 0; c < columns; c += kLine)
      transpose_lines<T>(from, to, {r, least(rows, r + kLine)}, {c, least(columns, c + kLine)});
}

/// f(matrix) for each of them.
template <class T, class F>
inline void for_matrices(const TransposeArgs& args, F f) {
  TransposeArgs a = args;
  for (std::size_t m = 0; m < args.matrices; ++m) {
    f(a);
    a.in = static_cast<const T*>(a.in) + a.in_step;
    a.out = static_cast<T*>(a.out) + a.out_step;
  }
}

template <class T>
inline Even<const T> from_even(const TransposeArgs& a) {
  return {static_cast<const T*>(a.in), a.in_stride};
}
template <class T>
inline Even<T> to_even(const TransposeArgs& a) {
  return {static_cast<T*>(a.out), a.out_stride};
}
template <class T>
inline Listed<const T> from_listed(const TransposeArgs& a) {
  return {static_cast<const T*>(a.in), a.row_offsets};
}
template <class T>
inline Listed<T> to_listed(const TransposeArgs& a) {
  return {static_cast<T*>(a.out), a.column_offsets};
}

template <class T>
inline void transpose_elements(const TransposeArgs& args) {
  for_matrices<T>(args, [](const TransposeArgs& a) {
    if (a.row_offsets != nullptr) return transpose_squares<T>(from_listed<T>(a), to_listed<T>(a), a.rows, a.columns);
    if (a.rows == 3) return few_rows<T, 3>(a, sizeof(T) == 1 ? three_planes(a) : 0);
    if (a.columns == 3) return few_columns<T, 3>(a);
    transpose_squares<T>(from_even<T>(a), to_even<T>(a), a.rows, a.columns);
  });
}

/// Of floats: from planes to pixels or back, as the planes are what lies far apart.
inline void transpose_floats(const TransposeArgs& args) {
  const bool to_planes = args.out_stride > args.in_stride;
  const bool is_listed = args.row_offsets != nullptr;
  if (!is_listed && args.rows == Vec::kLanes && args.columns == Vec::kLanes)
    return for_matrices<float>(args, [](const TransposeArgs& a) {
      transpose_block<true>(from_even<float>(a), to_even<float>(a), kLanes, kLanes);
    });
  for_matrices<float>(args, [&](const TransposeArgs& a) {
    const auto* in = static_cast<const float*>(a.in);
    auto* out = static_cast<float*>(a.out);
    if (is_listed && to_planes)
      transpose_matrix<true>(from_listed<float>(a), to_listed<float>(a), false, a.rows, a.columns);
    else if (is_listed)
      transpose_matrix<false>(from_listed<float>(a), to_listed<float>(a), true, a.rows, a.columns);
    else if (to_planes)
      run_pixels_to_planes({a.rows, a.columns, in, a.in_stride, out, a.out_stride});
    else
      run_planes_to_pixels({a.columns, a.rows, in, a.in_stride, out, a.out_stride});
  });
}

inline void run_transpose(const TransposeArgs& a) noexcept {
  switch (a.bytes) {
    case 1: return transpose_elements<std::uint8_t>(a);
    case 2: return transpose_elements<std::uint16_t>(a);
    case 4: return transpose_floats(a);
    case 8: return transpose_elements<std::uint64_t>(a);
    case 16: return transpose_elements<Whole>(a);
    default: break;
  }
}

}  // namespace
}  // namespace colonnade::kernels::move
