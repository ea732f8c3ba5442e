// SPDX-License-Identifier: Apache-2.0
// Matrix products of float64 and of integers. Every sum is one chain in the order of its terms, whatever rows and
// columns are computed together; integers wrap around.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/features.hpp"
#include "kernels/base/isa.hpp"

namespace colonnade::kernels::typed_product {

enum class Type : unsigned char { f64, i8, u8, i16, i32, i64 };

/// Columns of a panel of the right matrix, on every tier.
inline constexpr std::size_t kPanel = 16;

/// Bytes of a sum of such elements, which is an element of the result: float64, int64, else int32.
constexpr std::size_t sum_bytes(Type type) { return type == Type::f64 || type == Type::i64 ? 8 : 4; }

constexpr bool is_narrow(Type type) { return type == Type::i8 || type == Type::u8 || type == Type::i16; }

/// Bytes of a packed panel of such elements where a lane multiplies `terms` of a sum at once, and of ProductArgs::room.
constexpr std::size_t panel_bytes(std::size_t terms, Type type, std::size_t k) {
  const std::size_t steps = (k + terms - 1) / terms + (terms == 4 ? 1 : 0);
  return steps * kPanel * (terms == 1 ? sum_bytes(type) : sizeof(std::uint32_t));
}
constexpr std::size_t room_bytes(std::size_t terms, std::size_t m, std::size_t k) {
  return terms == 1 ? 0 : m * panel_bytes(terms, Type::i32, k) / kPanel;
}

/// Packs a right matrix [k][n] of any strides, in elements, to [n / kPanel] panels, zeros past k and n: [k][kPanel]
/// sums; [(k + 1) / 2][kPanel] pairs of 16 bits; or the sums of columns and [(k + 3) / 4][kPanel] quads of bytes.
struct PackArgs {
  std::size_t k = 0;
  std::size_t n = 0;
  const void* from = nullptr;
  std::ptrdiff_t k_stride = 0;
  std::ptrdiff_t n_stride = 0;
  void* to = nullptr;
  std::int32_t zero = 0;  ///< of bytes and integers of 16 bits by pairs: what is taken off them
};
using PackFn = void (*)(const PackArgs&) noexcept;

/// out[m][n] = bias[n] + sum over k of (a[m][k] - a_zero) * (b[k][n] - b_zero), where only bytes have zero points, and
/// sums wrap. Strides count elements; nothing may overlap.
struct ProductArgs {
  std::size_t m = 0;
  std::size_t k = 0;
  std::size_t n = 0;
  const void* a = nullptr;
  std::ptrdiff_t m_stride = 0;
  std::ptrdiff_t k_stride = 0;
  const void* b = nullptr;     ///< packed by the PackFn of both types, whose sums are the same; for few() as it lies
  const void* bias = nullptr;  ///< n sums, or null for zero
  void* out = nullptr;
  std::ptrdiff_t out_stride = 0;
  void* room = nullptr;                 ///< room_bytes(), 64-byte aligned
  std::ptrdiff_t b_stride = 0;          ///< for few(): from row to row, whose elements follow each other
  std::int32_t a_zero = 0, b_zero = 0;  ///< b's as it was packed with
};
/// Rows that few() takes at most.
inline constexpr std::size_t kFewRows = 4;
using ProductFn = void (*)(const ProductArgs&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  std::size_t (*terms)(Type a, Type b) noexcept;  ///< of a sum that a lane multiplies at once: 1, 2 or 4; 0: not these
  PackFn (*pack)(Type a, Type b) noexcept;        ///< where terms() are some, as product()
  ProductFn (*product)(Type a, Type b) noexcept;
  ProductFn (*few)(Type a, Type b) noexcept;  ///< few rows by a matrix that is not packed; null where that is slower
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features, Type a, Type b) noexcept;

}  // namespace colonnade::kernels::typed_product
