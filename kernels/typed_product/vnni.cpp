// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"
#include "kernels/typed_product/quads.hpp"

namespace colonnade::kernels {
namespace typed_product {
namespace {

constexpr bool is_byte(Type type) { return type == Type::i8 || type == Type::u8; }

std::size_t quads_of(Type a, Type b) noexcept { return is_byte(a) && is_byte(b) ? kTerms : 0; }

PackFn pack_of(Type, Type b) noexcept { return b == Type::i8 ? pack_quads<std::int8_t> : pack_quads<std::uint8_t>; }

ProductFn product_of(Type a, Type b) noexcept {
  using Signed = std::int8_t;
  using Unsigned = std::uint8_t;
  if (b == Type::i8) return a == Type::i8 ? product_by_quads<Signed, Signed> : product_by_quads<Unsigned, Signed>;
  return a == Type::i8 ? product_by_quads<Signed, Unsigned> : product_by_quads<Unsigned, Unsigned>;
}

ProductFn few_of(Type a, Type b) noexcept {
  using Signed = std::int8_t;
  using Unsigned = std::uint8_t;
  if (b == Type::i8) return a == Type::i8 ? few_rows_by_quads<Signed, Signed> : few_rows_by_quads<Unsigned, Signed>;
  return a == Type::i8 ? few_rows_by_quads<Signed, Unsigned> : few_rows_by_quads<Unsigned, Unsigned>;
}

constexpr Kernel kKernel = {COLONNADE_TIER_NAME, kThisIsa, quads_of, pack_of, product_of, few_of};

}  // namespace
}  // namespace typed_product

template <>
KernelList<typed_product::Kernel> kernels_of<typed_product::Kernel, ThisTier>() noexcept {
  return {&typed_product::kKernel, 1};
}

}  // namespace colonnade::kernels
