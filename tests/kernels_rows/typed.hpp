// SPDX-License-Identifier: Apache-2.0
// What the tests of the typed kernels share: their types, and elements to try them on.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/typed/typed.hpp"
#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {

using typed::Type;

inline constexpr Type kTypes[] = {Type::f32, Type::f64, Type::i8,  Type::u8,  Type::i16,    Type::u16,
                                  Type::i32, Type::u32, Type::i64, Type::u64, Type::boolean};
inline constexpr std::size_t kCounts[] = {0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 64, 67};

/// A byte of a boolean: true unless zero.
enum class Boolean : std::uint8_t {};

template <class T>
struct Tag {
  using type = T;
};

template <class F>
inline void with_type(Type type, F f) {
  switch (type) {
    case Type::f32: return f(Tag<float>());
    case Type::f64: return f(Tag<double>());
    case Type::i8: return f(Tag<std::int8_t>());
    case Type::u8: return f(Tag<std::uint8_t>());
    case Type::i16: return f(Tag<std::int16_t>());
    case Type::u16: return f(Tag<std::uint16_t>());
    case Type::i32: return f(Tag<std::int32_t>());
    case Type::u32: return f(Tag<std::uint32_t>());
    case Type::i64: return f(Tag<std::int64_t>());
    case Type::u64: return f(Tag<std::uint64_t>());
    case Type::boolean: return f(Tag<Boolean>());
  }
}

template <class T>
inline constexpr bool kIsBoolean = std::is_same_v<T, Boolean>;
template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T>;

/// What an element means.
template <class T>
auto plain(T x) {
  if constexpr (kIsBoolean<T>) {
    return x != Boolean{};
  } else {
    return x;
  }
}

/// Small numbers, equal ones among them, and the type's extremes; for floats what is no number, too.
template <class T>
std::vector<T> elements(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    const auto pick = random() % 16;
    const double small = static_cast<double>(random() % 41) / 4 - 5;
    if constexpr (kIsBoolean<T>) {
      value = static_cast<T>(pick < 8 ? 0 : 1 << pick % 8);
    } else {
      using Limits = std::numeric_limits<T>;
      value = pick == 0                  ? Limits::max()
              : pick == 1                ? Limits::lowest()
              : kIsFloat<T> && pick == 2 ? Limits::quiet_NaN()
              : kIsFloat<T> && pick == 3 ? -Limits::infinity()
                                         : static_cast<T>(std::is_signed_v<T> ? small : small + 5);
    }
  }
  return values;
}

inline std::string label_of(const typed::Kernel& kernel, const char* what, int number, Type type) {
  return std::string(kernel.name) + ' ' + what + ' ' + std::to_string(number) + " type " +
         std::to_string(static_cast<int>(type));
}

/// Truncated, the nearest in range, nothing for what is no number.
template <class To, class From>
To converted(From x) {
  if constexpr (kIsFloat<From> && !kIsFloat<To>) {
    const long double cut = std::trunc(static_cast<long double>(x));
    const long double low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    return cut != cut ? To{0} : static_cast<To>(std::clamp(cut, low, high));
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace colonnade::kernels::test
