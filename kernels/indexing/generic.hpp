// SPDX-License-Identifier: Apache-2.0
// The loops of every tier: offsets without branches, for the compiler to vectorise; moves of a size that it knows.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/base/copy.hpp"
#include "kernels/indexing/indexing.hpp"

namespace colonnade::kernels::indexing {
namespace {

/// The index as one from the front, 0 where it lies outside; `outside` is below 0 once one did. Signs, not branches.
template <class Index>
inline std::int64_t inside(Index index, std::int64_t size, std::int64_t& outside) {
  const std::int64_t given = index, front = given + ((given >> 63) & size);
  const std::int64_t negative = front | (size - 1 - front);
  outside |= negative;
  return front & ~(negative >> 63);
}

template <class Index>
inline bool element_offsets(const ElementArgs& args) noexcept {
  const bool is_line = args.columns == 1;
  const std::size_t rows = is_line ? 1 : args.rows, columns = is_line ? args.rows : args.columns;
  const auto* __restrict indices = static_cast<const Index*>(args.indices);
  std::int64_t* __restrict offsets = args.offsets;
  const std::int64_t size = args.size, stride = args.stride, step = is_line ? 0 : args.step;
  std::int64_t outside = 0;
  for (std::size_t r = 0; r < rows; ++r, indices += columns, offsets += columns) {
    std::int64_t base = args.base;
    for (std::size_t c = 0; c < columns; ++c, base += step)
      offsets[c] = base + inside(indices[c], size, outside) * stride;
  }
  return outside >= 0;
}

template <class Index, std::size_t kDepth>
inline bool tuple_offsets(const TupleArgs& args) noexcept {
  const std::size_t depth = kDepth == 0 ? args.depth : kDepth;
  const auto* indices = static_cast<const Index*>(args.indices);
  std::int64_t outside = 0;
  for (std::size_t t = 0; t < args.count; ++t, indices += depth) {
    std::int64_t offset = args.base;
    for (std::size_t d = 0; d < depth; ++d) offset += inside(indices[d], args.sizes[d], outside) * args.strides[d];
    args.offsets[t] = offset;
  }
  return outside >= 0;
}

template <class Index>
inline bool tuple_offsets_of(const TupleArgs& args) noexcept {
  switch (args.depth) {
    case 1: return tuple_offsets<Index, 1>(args);
    case 2: return tuple_offsets<Index, 2>(args);
    case 3: return tuple_offsets<Index, 3>(args);
    default: return tuple_offsets<Index, 0>(args);
  }
}

/// kBytes 0: `bytes`.
template <std::size_t kBytes>
inline void move_block(std::byte* to, const std::byte* from, std::size_t bytes) {
  if constexpr (kBytes == 0)
    copy_memory(to, from, bytes);
  else
    std::memcpy(to, from, kBytes);
}

/// kBytes 0: as many as the arguments say.
template <std::size_t kBytes>
inline void take_blocks(const BlockArgs& args) noexcept {
  const std::size_t bytes = kBytes == 0 ? args.bytes : kBytes, count = args.count;
  const std::byte* from = args.from;
  const std::int64_t* offsets = args.offsets;
  std::byte* to = args.to;
  std::size_t i = 0;
  if constexpr (kBytes != 0 && kBytes <= 8) {  // loads that miss the near cache wait for each other otherwise
    for (; i + 4 <= count; i += 4, to += 4 * kBytes) {
      std::byte held[4 * kBytes];
      for (std::size_t k = 0; k < 4; ++k) std::memcpy(held + k * kBytes, from + offsets[i + k], kBytes);
      std::memcpy(to, held, sizeof held);
    }
  }
  for (; i < count; ++i, to += bytes) move_block<kBytes>(to, from + offsets[i], bytes);
}

/// body(offset, block) for each in order.
template <class Body>
inline void for_each_block(const BlockArgs& args, std::size_t bytes, Body body) {
  const std::byte* from = args.from;
  std::byte* to = args.to;
  const std::int64_t *offsets = args.offsets, *places = args.places;
  const std::size_t count = args.count;
  if (places == nullptr) {
    for (std::size_t i = 0; i < count; ++i, from += bytes) body(to + offsets[i], from);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) body(to + offsets[i], from + places[i] * static_cast<std::int64_t>(bytes));
}

template <std::size_t kBytes>
inline void put_blocks(const BlockArgs& args) noexcept {
  const std::size_t bytes = kBytes == 0 ? args.bytes : kBytes;
  for_each_block(args, bytes, [&](std::byte* to, const std::byte* from) { move_block<kBytes>(to, from, bytes); });
}

template <class T>
inline auto wrapping(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return static_cast<std::uint64_t>(x);
  }
}

/// As many bits as T has.
template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 8, std::uint64_t,
    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;

template <class To, class From>
inline To same_bits(From from) {
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

template <Merge kMerge, class T>
inline T merged(T held, T update) {
  if constexpr (kMerge == Merge::add) {
    return static_cast<T>(wrapping(held) + wrapping(update));
  } else if constexpr (kMerge == Merge::mul) {
    return static_cast<T>(wrapping(held) * wrapping(update));
  } else {
    // by a mask: which one stays cannot be predicted, and a conditional store would be a branch
    using Bits = BitsOf<T>;
    const bool beyond = kMerge == Merge::min ? update < held : update > held;
    const auto taken = static_cast<Bits>(-static_cast<std::int64_t>(beyond | (update != update)));
    return same_bits<T>(static_cast<Bits>((same_bits<Bits>(update) & taken) | (same_bits<Bits>(held) & ~taken)));
  }
}

template <Merge kMerge, class T>
inline void merge_blocks(const BlockArgs& args) noexcept {
  const std::size_t elements = args.bytes / sizeof(T);
  if (elements == 1) {
    for_each_block(args, sizeof(T), [](std::byte* to, const std::byte* from) {
      auto* held = reinterpret_cast<T*>(to);
      *held = merged<kMerge>(*held, *reinterpret_cast<const T*>(from));
    });
    return;
  }
  for_each_block(args, args.bytes, [elements](std::byte* to, const std::byte* from) {
    auto* held = reinterpret_cast<T*>(to);
    const auto* updates = reinterpret_cast<const T*>(from);
    for (std::size_t i = 0; i < elements; ++i) held[i] = merged<kMerge>(held[i], updates[i]);
  });
}

template <Merge kMerge>
inline BlockFn merge_of(Type type) {
  switch (type) {
    case Type::f32: return merge_blocks<kMerge, float>;
    case Type::f64: return merge_blocks<kMerge, double>;
    case Type::i8: return merge_blocks<kMerge, std::int8_t>;
    case Type::u8: return merge_blocks<kMerge, std::uint8_t>;
    case Type::i16: return merge_blocks<kMerge, std::int16_t>;
    case Type::u16: return merge_blocks<kMerge, std::uint16_t>;
    case Type::i32: return merge_blocks<kMerge, std::int32_t>;
    case Type::u32: return merge_blocks<kMerge, std::uint32_t>;
    case Type::i64: return merge_blocks<kMerge, std::int64_t>;
    case Type::u64: break;
  }
  return merge_blocks<kMerge, std::uint64_t>;
}

inline ElementFn find_elements(bool wide) noexcept {
  return wide ? element_offsets<std::int64_t> : element_offsets<std::int32_t>;
}

inline TupleFn find_tuples(bool wide) noexcept {
  return wide ? tuple_offsets_of<std::int64_t> : tuple_offsets_of<std::int32_t>;
}

inline BlockFn find_take(std::size_t bytes) noexcept {
  switch (bytes) {
    case 1: return take_blocks<1>;
    case 2: return take_blocks<2>;
    case 4: return take_blocks<4>;
    case 8: return take_blocks<8>;
    case 16: return take_blocks<16>;
    default: return take_blocks<0>;
  }
}

inline BlockFn find_put(std::size_t bytes) noexcept {
  switch (bytes) {
    case 1: return put_blocks<1>;
    case 2: return put_blocks<2>;
    case 4: return put_blocks<4>;
    case 8: return put_blocks<8>;
    case 16: return put_blocks<16>;
    default: return put_blocks<0>;
  }
}

inline BlockFn find_merge(Merge merge, Type type) noexcept {
  switch (merge) {
    case Merge::add: return merge_of<Merge::add>(type);
    case Merge::mul: return merge_of<Merge::mul>(type);
    case Merge::min: return merge_of<Merge::min>(type);
    case Merge::max: break;
  }
  return merge_of<Merge::max>(type);
}

}  // namespace
}  // namespace colonnade::kernels::indexing
