// SPDX-License-Identifier: Apache-2.0
// Along the lines of one axis: running sums and products, positions of the largest elements, keys that order elements
// as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::lines {

enum class Type : unsigned char { f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64 };

/// `columns` lines side by side: element k of line c lies at k * row_step + c * column_step, in elements, on both
/// sides; one of the steps is 1. What `out` shares with `in` nobody reads.
struct LineArgs {
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t size = 1;
  std::size_t columns = 1;
  std::ptrdiff_t row_step = 1;
  std::ptrdiff_t column_step = 1;
  bool exclusive = false;  ///< of sums and products: an element is not in its own
  bool reverse = false;    ///< of sums and products: from the end
};
/// At most kMostColumns of them.
using LineFn = void (*)(const LineArgs&) noexcept;
inline constexpr std::size_t kMostColumns = 64;

/// keys[i] of the elements in[i * step]: unsigned integers of the same order, where NaN is largest and -0 is 0; in
/// reverse order where `smallest` is set. Of 32 bits, but 64 for types of 64 bits.
struct KeyArgs {
  const void* in = nullptr;
  void* keys = nullptr;
  std::size_t count = 0;
  std::ptrdiff_t step = 1;
  bool smallest = false;
};
using KeyFn = void (*)(const KeyArgs&) noexcept;

/// An element in a ranking: by key, equal ones by place, the first one highest.
struct Rank64 {
  std::uint64_t key = 0;
  std::uint64_t place = 0;  ///< inverted: of element i it is ~i
};

/// Of keys [0, count) of elements `first`, first + 1, ... those above a limit, in order.
struct AboveArgs {
  const void* keys = nullptr;
  std::size_t count = 0;
  std::size_t first = 0;
  std::uint64_t limit = 0;
  void* out = nullptr;  ///< room for `count`: of keys of 32 bits (key << 32) | ~place, else Rank64
};
/// How many there were.
using AboveFn = std::size_t (*)(const AboveArgs&) noexcept;

/// Functions by type; null where there is none. The same ones are null on every tier.
struct Kernel {
  const char* name;
  Isa isa;
  LineFn (*sums)(Type) noexcept;      ///< one after the other; integers wrap around
  LineFn (*products)(Type) noexcept;  ///< likewise
  LineFn (*peaks)(Type) noexcept;     ///< 1 at the first largest element, else 0; NaN is largest where it is first
  KeyFn (*keys)(Type) noexcept;
  AboveFn (*above)(bool wide) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::lines
