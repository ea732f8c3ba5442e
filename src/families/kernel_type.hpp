// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "colonnade/colonnade.hpp"

namespace colonnade {

/// The element type as a family of kernels names it: Type is its enumeration. Nothing where kernels lack the type.
template <class Type>
constexpr std::optional<Type> kernel_type(DType dtype) {
  if constexpr (requires { Type::f16; })
    if (dtype == DType::f16) return Type::f16;
  if constexpr (requires { Type::bf16; })
    if (dtype == DType::bf16) return Type::bf16;
  if constexpr (requires { Type::boolean; })
    if (dtype == DType::boolean) return Type::boolean;
  if (dtype == DType::f32) return Type::f32;
  if (dtype == DType::f64) return Type::f64;
  if (dtype == DType::i8) return Type::i8;
  if (dtype == DType::u8) return Type::u8;
  if (dtype == DType::i16) return Type::i16;
  if (dtype == DType::u16) return Type::u16;
  if (dtype == DType::i32) return Type::i32;
  if (dtype == DType::u32) return Type::u32;
  if (dtype == DType::i64) return Type::i64;
  if (dtype == DType::u64) return Type::u64;
  return std::nullopt;
}

}  // namespace colonnade
