// SPDX-License-Identifier: Apache-2.0
// Operators that relabel a tensor's elements or make new ones out of shapes and scalars.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/checked.hpp"
#include "base/tensor_memory.hpp"
#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"

namespace colonnade::reference {
namespace {

Tensors relabelled(const Call& call) {
  Tensor copy = call.input(0);
  return {std::move(copy).reshaped(call.shape())};
}

/// A block of them, and copies of it: without vectors a store an element is slower than memory.
template <class T>
void fill_with(const T& value, T* to, std::int64_t count) {
  if constexpr (std::is_same_v<T, std::string>) {
    std::fill_n(to, count, value);
  } else {
    constexpr std::int64_t kCopied = 2048 / sizeof(T);
    std::fill_n(to, std::min(kCopied, count), value);
    for (std::int64_t at = kCopied; at < count; at += kCopied)
      std::memcpy(to + at, to, static_cast<std::size_t>(std::min(kCopied, count - at)) * sizeof(T));
  }
}

template <class C>
std::int64_t range_count(C start, C limit, C delta, const Call& call) {
  if (delta == C{0}) call.invalid("the step is 0");
  if constexpr (std::is_same_v<C, double>) {
    const double count = std::ceil((limit - start) / delta);
    if (!(count < 9e15)) call.invalid("a range of {} elements", count);
    return count > 0 ? static_cast<std::int64_t>(count) : 0;
  } else {
    const bool up = delta > C{0};
    if (up ? start >= limit : start <= limit) return 0;
    const auto span = up ? static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(start)
                         : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(limit);
    const auto step = up ? static_cast<std::uint64_t>(delta) : 0 - static_cast<std::uint64_t>(delta);
    return static_cast<std::int64_t>((span - 1) / step + 1);
  }
}

/// `count` numbers of a range from the one at `begin` on, few enough for 32 bits. Integers wrap around.
template <class C>
void write_range(C start, C delta, std::int64_t begin, std::int64_t count, C* to) {
  if constexpr (std::is_same_v<C, double>) {
    const auto first = static_cast<double>(begin);
    for (std::int32_t i = 0; i < count; ++i) to[i] = start + (first + static_cast<double>(i)) * delta;
  } else {
    const auto step = static_cast<std::uint64_t>(delta);
    auto next = static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(begin) * step;
    for (std::int64_t i = 0; i < count; ++i, next += step) to[i] = static_cast<C>(next);
  }
}

template <class C>
Tensor range_of(const Call& call) {
  C bounds[3] = {};
  for (std::size_t i = 0; i < 3; ++i) load(call.input(i), 0, 1, bounds + i);
  const std::int64_t count = range_count(bounds[0], bounds[1], bounds[2], call);
  Tensor y = TensorMemory::unset(call.dtype(), {count});
  const bool as_computed = size_of(call.dtype()) == sizeof(C);  // then numbers are made where they lie
  std::array<C, kBlock> values{};
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t some = std::min(kBlock, count - begin);
    C* const to = as_computed ? elements<C>(y) + begin : values.data();
    write_range(bounds[0], bounds[2], begin, some, to);
    if (!as_computed) store(to, some, y, begin);
  }
  return y;
}

}  // namespace

Tensors apply(const Reshape&, const Call& call) { return relabelled(call); }
Tensors apply(const Flatten&, const Call& call) { return relabelled(call); }
Tensors apply(const Squeeze&, const Call& call) { return relabelled(call); }
Tensors apply(const Unsqueeze&, const Call& call) { return relabelled(call); }

Tensors apply(const ShapeOf& op, const Call& call) {
  const Shape& shape = call.input(0).shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto clamp = [&](std::int64_t at) {
    return std::min(std::max<std::int64_t>(at < 0 ? at + rank : at, 0), rank);
  };
  const std::int64_t begin = clamp(op.start), end = std::max(begin, clamp(op.end.value_or(rank)));
  return {tensor_of(DType::i64, {end - begin}, Ints(shape.begin() + begin, shape.begin() + end))};
}

Tensors apply(const SizeOf&, const Call& call) { return {tensor_of(DType::i64, {}, Ints{call.input(0).size()})}; }

Tensors apply(const Fill&, const Call& call) {
  const Tensor& value = call.input(1);
  if (value.size() != 1) call.invalid("the value has {} elements, expected 1", value.size());
  Tensor y = TensorMemory::unset(value.dtype(), call.ints(0));
  const auto* const bytes = static_cast<const std::uint8_t*>(value.data());
  const bool is_one_byte =  // again and again, as zero is
      value.dtype() != DType::string &&
      std::all_of(bytes, bytes + value.byte_size(), [&](auto b) { return b == *bytes; });
  if (is_one_byte && y.size() > 0) {
    std::memset(y.data(), *bytes, y.byte_size());
    return {std::move(y)};
  }
  visit_storage(value.dtype(), [&]<class T>(Tag<T>) { fill_with(*elements<T>(value), elements<T>(y), y.size()); });
  return {std::move(y)};
}

Tensors apply(const Range&, const Call& call) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (call.input(i).size() != 1) call.invalid("input {} has {} elements, expected 1", i, call.input(i).size());
  }
  Tensors outputs;
  visit_compute(call.dtype(), call, [&]<class C>(Tag<C>) { outputs.push_back(range_of<C>(call)); });
  return outputs;
}

}  // namespace colonnade::reference
