// SPDX-License-Identifier: Apache-2.0
// What is done to elements, one at a time: without branches, so that loops over them become vectors.
#pragma once

#include <limits>
#include <type_traits>

#include "kernels/typed/typed.hpp"

namespace colonnade::kernels::typed {
namespace {

/// A byte that is true unless zero.
struct Boolean {
  std::uint8_t byte;
};

template <class T>
struct Tag {
  using type = T;
};

/// f(Tag) of the type's elements.
template <class F>
inline auto with_type(Type type, F&& f) {
  switch (type) {
    case Type::f32: return f(Tag<float>{});
    case Type::f64: return f(Tag<double>{});
    case Type::i8: return f(Tag<std::int8_t>{});
    case Type::u8: return f(Tag<std::uint8_t>{});
    case Type::i16: return f(Tag<std::int16_t>{});
    case Type::u16: return f(Tag<std::uint16_t>{});
    case Type::i32: return f(Tag<std::int32_t>{});
    case Type::u32: return f(Tag<std::uint32_t>{});
    case Type::i64: return f(Tag<std::int64_t>{});
    case Type::u64: return f(Tag<std::uint64_t>{});
    case Type::boolean: break;
  }
  return f(Tag<Boolean>{});
}

template <class T>
inline T plain(T x) {
  return x;
}
inline bool plain(Boolean x) { return x.byte != 0; }

template <class T>
inline constexpr bool kIsReal = std::is_floating_point_v<T>;
template <class T>
inline constexpr bool kIsInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// An integer in which arithmetic wraps around, no narrower than it must be.
template <class T>
inline auto wrapping(T x) {
  if constexpr (kIsReal<T>) {
    return x;
  } else if constexpr (sizeof(T) < 4) {
    return static_cast<std::uint32_t>(x);
  } else {
    return static_cast<std::make_unsigned_t<T>>(x);
  }
}

struct Add {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(wrapping(a) + wrapping(b));
  }
};
struct Sub {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(wrapping(a) - wrapping(b));
  }
};
struct Mul {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(wrapping(a) * wrapping(b));
  }
};
struct Div {
  template <class T>
  static T of(T a, T b) {
    return a / b;
  }
};
struct Min {
  template <class T>
  static T of(T a, T b) {
    return a != a || a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    return a != a || a > b ? a : b;
  }
};
struct SquaredDifference {
  template <class T>
  static T of(T a, T b) {
    return Mul::of(Sub::of(a, b), Sub::of(a, b));
  }
};

/// The quotient of integers, b not zero: exact as a real number where that holds it.
struct Quotient {
  template <class T>
  static T of(T a, T b) {
    if constexpr (sizeof(T) < 4) {
      return static_cast<T>(static_cast<std::int32_t>(static_cast<float>(a) / static_cast<float>(b)));
    } else if constexpr (std::is_same_v<T, std::int32_t>) {
      const double quotient = static_cast<double>(a) / static_cast<double>(b);
      return b == -1 ? static_cast<T>(0 - wrapping(a)) : static_cast<T>(quotient);
    } else if constexpr (sizeof(T) == 4) {  // signed integers are what vectors of doubles become
      const double quotient = __builtin_floor(static_cast<double>(a) / static_cast<double>(b));
      return static_cast<T>(static_cast<std::int32_t>(quotient - 0x1p31)) ^ (T{1} << 31);
    } else if constexpr (std::is_signed_v<T>) {
      return b == -1 ? static_cast<T>(0 - wrapping(a)) : a / b;
    } else {
      return (b & (b - 1)) == 0 ? a >> __builtin_ctzll(b) : a / b;
    }
  }
};
struct Fmod {
  template <class T>
  static T of(T a, T b) {
    return Sub::of(a, Mul::of(Quotient::of(a, b), b));
  }
};
struct Mod {
  template <class T>
  static T of(T a, T b) {
    const T rest = Fmod::of(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? Add::of(rest, b) : rest;
  }
};
/// The remainder of floats in double precision, where the quotient is exact but for one; else as libm has it.
struct RealFmod {
  static float of(float a, float b) {
    const double x = static_cast<double>(a), y = static_cast<double>(b);
    const double quotient = __builtin_trunc(x / y), rest = x - quotient * y;
    if (!(__builtin_fabs(quotient) < 0x1p29) || !(__builtin_fabsf(b) < __builtin_inff())) return __builtin_fmodf(a, b);
    const double whole = (rest < 0) != (x < 0) && rest != 0 ? rest + __builtin_copysign(y, x) : rest;
    return static_cast<float>(__builtin_copysign(whole, x));
  }
  static double of(double a, double b) { return __builtin_fmod(a, b); }
};
/// Modulo 2^64; a negative exponent leaves what truncation leaves of 1 / a^n.
struct Pow {
  static double of(double a, double b) { return __builtin_pow(a, b); }
  template <class T>
  static T of(T a, T b) {
    if (b < 0) {
      const T odd = static_cast<T>(b % 2 == 0 ? 1 : -1);
      return a == 1 ? T{1} : static_cast<std::int64_t>(a) == -1 ? odd : T{0};
    }
    if (a == 2) return static_cast<T>(b < static_cast<T>(sizeof(T) * 8) ? wrapping(T{1}) << b : 0);
    auto result = wrapping(T{1}), factor = wrapping(a);
    for (auto rest = static_cast<std::make_unsigned_t<T>>(b); rest != 0;
         rest = static_cast<decltype(rest)>(rest >> 1)) {
      result = (rest & 1) != 0 ? result * factor : result;
      factor *= factor;
    }
    return static_cast<T>(result);
  }
};
struct BitAnd {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
/// Places to shift by, and nothing left where there are more than bits.
struct ShiftLeft {
  template <class T>
  static T of(T a, T b) {
    constexpr T kBits = sizeof(T) * 8;
    return static_cast<T>(b < kBits ? wrapping(a) << (b & (kBits - 1)) : 0);
  }
};
struct ShiftRight {
  template <class T>
  static T of(T a, T b) {
    constexpr T kBits = sizeof(T) * 8;
    return static_cast<T>(b < kBits ? wrapping(a) >> (b & (kBits - 1)) : 0);
  }
};

struct Equal {
  template <class T>
  static bool of(T a, T b) {
    return a == b;
  }
};
struct Less {
  template <class T>
  static bool of(T a, T b) {
    return a < b;
  }
};
struct LessOrEqual {
  template <class T>
  static bool of(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  static bool of(T a, T b) {
    return a > b;
  }
};
struct GreaterOrEqual {
  template <class T>
  static bool of(T a, T b) {
    return a >= b;
  }
};
struct And {
  static bool of(bool a, bool b) { return a & b; }
};
struct Or {
  static bool of(bool a, bool b) { return a | b; }
};
struct Xor {
  static bool of(bool a, bool b) { return a != b; }
};

struct Not {
  static bool of(bool a) { return !a; }
};
struct IsNan {
  template <class T>
  static bool of(T a) {
    return a != a;
  }
};
struct Neg {
  template <class T>
  static T of(T a) {
    if constexpr (kIsReal<T>) {
      return -a;
    } else {
      return static_cast<T>(0 - wrapping(a));
    }
  }
};
struct Abs {
  template <class T>
  static T of(T a) {
    if constexpr (kIsReal<T>) {
      return std::is_same_v<T, float> ? static_cast<T>(__builtin_fabsf(static_cast<float>(a)))
                                      : static_cast<T>(__builtin_fabs(static_cast<double>(a)));
    } else {
      return a < 0 ? Neg::of(a) : a;
    }
  }
};
struct IsInf {
  template <class T>
  static bool of(T a) {
    return Abs::of(a) > std::numeric_limits<T>::max();
  }
};
struct Sign {
  template <class T>
  static T of(T a) {
    if constexpr (kIsReal<T>) {
      return a > 0 ? T{1} : a < 0 ? T{-1} : a;
    } else {
      return static_cast<T>(static_cast<int>(a > 0) - static_cast<int>(a < 0));
    }
  }
};
struct Relu {
  template <class T>
  static T of(T a) {
    return a < 0 ? T{0} : a;
  }
};
struct BitNot {
  template <class T>
  static T of(T a) {
    return static_cast<T>(~a);
  }
};
struct Prelu {
  template <class T>
  static T of(T a, T b) {
    return a < 0 ? Mul::of(a, b) : a;
  }
};
struct Square {
  template <class T>
  static T of(T a) {
    return Mul::of(a, a);
  }
};
/// Truncated and saturated; NaN gives 0.
template <class Integer, class From>
inline Integer saturate(From x) {
  constexpr Integer kLow = std::numeric_limits<Integer>::min(), kHigh = std::numeric_limits<Integer>::max();
  constexpr int kDigits = std::numeric_limits<From>::digits;
  constexpr bool kExact = kDigits >= std::numeric_limits<Integer>::digits;
  constexpr From kFrom = static_cast<From>(kLow), kTo = static_cast<From>(kHigh);
  constexpr From kBelow = kExact ? kTo : kTo - kTo / static_cast<From>(std::uint64_t{1} << kDigits);
  // narrower integers by way of one that there is an instruction for
  using Step = std::conditional_t<(sizeof(Integer) < 4), std::int32_t, Integer>;
  const From number = x != x ? From{0} : x;
  const From above = number > kFrom ? number : kFrom;
  const Integer truncated = static_cast<Integer>(static_cast<Step>(above < kBelow ? above : kBelow));
  return !kExact && number >= kTo ? kHigh : truncated;
}

template <class To>
struct CastTo {
  template <class From>
  static auto of(From x) {
    if constexpr (std::is_same_v<To, Boolean>) {
      return x != From{0};
    } else if constexpr (std::is_same_v<From, bool>) {
      return x ? To{1} : To{0};
    } else if constexpr (kIsInteger<To> && kIsReal<From>) {
      return saturate<To>(x);
    } else {
      return static_cast<To>(x);
    }
  }
};

}  // namespace
}  // namespace colonnade::kernels::typed
