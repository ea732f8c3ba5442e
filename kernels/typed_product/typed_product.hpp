// SPDX-License-Identifier: Apache-2.0
// Matrix products of float64 and of integers. Every sum is one chain in the order of its terms, whatever rows and
// columns are computed together; integers wrap around.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::typed_product {

enum class Type : unsigned char { f64, i8, u8, i16, i32, i64 };

/// Columns of a panel of the right matrix, on every tier.
inline constexpr std::size_t kPanel = 16;

/// Bytes of a sum of such elements, which is an element of the result: float64, int64, else int32.
constexpr std::size_t sum_bytes(Type type) { return type == Type::f64 || type == Type::i64 ? 8 : 4; }

constexpr bool is_narrow(Type type) { return type == Type::i8 || type == Type::u8 || type == Type::i16; }
/// Elements of 16 bits or fewer on both sides are multiplied two by two.
constexpr bool by_pairs(Type a, Type b) { return is_narrow(a) && is_narrow(b); }
/// Bytes of ProductArgs::room.
constexpr std::size_t room_bytes(Type a, Type b, std::size_t m, std::size_t k) {
  return by_pairs(a, b) ? m * ((k + 1) / 2) * sizeof(std::uint32_t) : 0;
}

/// Packs a right matrix [k][n] of any strides, in elements, to [n / kPanel][k][kPanel] sums, zeros past n; by pairs to
/// [n / kPanel][(k + 1) / 2][kPanel] pairs of 16 bits, zeros past k and n.
struct PackArgs {
  std::size_t k = 0;
  std::size_t n = 0;
  const void* from = nullptr;
  std::ptrdiff_t k_stride = 0;
  std::ptrdiff_t n_stride = 0;
  void* to = nullptr;
};
using PackFn = void (*)(const PackArgs&) noexcept;

/// out[m][n] = bias[n] + sum over k of a[m][k] * b[k][n]. Strides count elements; nothing may overlap.
struct ProductArgs {
  std::size_t m = 0;
  std::size_t k = 0;
  std::size_t n = 0;
  const void* a = nullptr;
  std::ptrdiff_t m_stride = 0;
  std::ptrdiff_t k_stride = 0;
  const void* panels = nullptr;  ///< packed by the PackFn of both types, whose sums are the same
  const void* bias = nullptr;    ///< n sums, or null for zero
  void* out = nullptr;
  std::ptrdiff_t out_stride = 0;
  void* room = nullptr;  ///< room_bytes(), 64-byte aligned
};
using ProductFn = void (*)(const ProductArgs&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  PackFn (*pack)(Type a, Type b) noexcept;
  ProductFn (*product)(Type a, Type b) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::typed_product
