// SPDX-License-Identifier: Apache-2.0
// Elements that indices name: where they lie, and how they are taken from there or put there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::indexing {

enum class Type : unsigned char { f32, f64, i8, u8, i16, u16, i32, u32, i64, u64 };

/// How an update meets the element it lands on.
enum class Merge : unsigned char { add, mul, min, max };

/// Blocks of `rows` x `columns` indices along one axis of `size` > 0 elements; those below 0 count from its end:
/// offsets[r][c] = base + c * step + indices[r][c] * stride, or as of index 0 where one lies outside.
struct ElementArgs {
  const void* indices = nullptr;
  std::int64_t* offsets = nullptr;
  std::size_t rows = 1;
  std::size_t columns = 1;
  std::int64_t size = 1;
  std::int64_t base = 0;
  std::int64_t step = 0;
  std::int64_t stride = 1;
};
/// True when all indices lie inside.
using ElementFn = bool (*)(const ElementArgs&) noexcept;

/// Tuples of `depth` indices, each along an axis of its own: offsets[t] = base + the sum of indices[t][d] * strides[d].
struct TupleArgs {
  const void* indices = nullptr;
  std::int64_t* offsets = nullptr;
  std::size_t count = 0;
  std::size_t depth = 1;
  const std::int64_t* sizes = nullptr;
  const std::int64_t* strides = nullptr;
  std::int64_t base = 0;
};
using TupleFn = bool (*)(const TupleArgs&) noexcept;

/// `count` blocks of `bytes`, dense on one side, at byte offsets on the other.
struct BlockArgs {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  const std::int64_t* offsets = nullptr;
  const std::int64_t* places = nullptr;  ///< of the dense blocks, where only some of them move; null: 0, 1, ...
  std::size_t count = 0;
  std::size_t bytes = 0;
};
/// In order: a later block lands on an earlier one.
using BlockFn = void (*)(const BlockArgs&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  ElementFn (*elements)(bool wide) noexcept;  ///< wide: indices are int64, else int32
  TupleFn (*tuples)(bool wide) noexcept;
  BlockFn (*take)(std::size_t bytes) noexcept;  ///< to[i] = from[offset i]; `places` is not read
  BlockFn (*put)(std::size_t bytes) noexcept;   ///< to[offset i] = from[i]
  BlockFn (*merge)(Merge, Type) noexcept;       ///< to[offset i] meets from[i]; integers wrap around, NaN stays
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::indexing
