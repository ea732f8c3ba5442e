// SPDX-License-Identifier: Apache-2.0
// Matrix products of float64 and of integers. Every sum is one chain in the order of its terms, whatever rows and
// columns are computed together; integers wrap around.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::typed_product {

enum class Type : unsigned char { f64, i8, u8, i32, i64 };

/// Columns of a panel of the right matrix, on every tier.
inline constexpr std::size_t kPanel = 16;

/// Bytes of a sum of such elements, which is an element of the result: float64, int64, else int32.
constexpr std::size_t sum_bytes(Type type) { return type == Type::f64 || type == Type::i64 ? 8 : 4; }

/// Packs a right matrix [k][n] of any strides, in elements, to [n / kPanel][k][kPanel] sums, zeros past n.
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
  const void* panels = nullptr;  ///< packed by the PackFn of b's type, whose sums are those of a's
  const void* bias = nullptr;    ///< n sums, or null for zero
  void* out = nullptr;
  std::ptrdiff_t out_stride = 0;
};
using ProductFn = void (*)(const ProductArgs&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  PackFn (*pack)(Type of_b) noexcept;
  ProductFn (*product)(Type of_a) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::typed_product
