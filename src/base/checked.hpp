// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.hpp"

namespace colonnade {

/// a * b, or nothing on overflow.
inline std::optional<std::int64_t> try_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// a * b; throws Error{resource_limit} on overflow.
inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  const auto product = try_mul(a, b);
  if (!product) fail(ErrorCode::resource_limit, "size overflow: {} * {}", a, b);
  return *product;
}

/// a + b; throws Error{resource_limit} on overflow.
inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) fail(ErrorCode::resource_limit, "size overflow: {} + {}", a, b);
  return sum;
}

/// a / b, rounded up; b > 0. No sum that could overflow.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t multiple) { return ceil_div(a, multiple) * multiple; }

}  // namespace colonnade
