// SPDX-License-Identifier: Apache-2.0
// The loops of every tier: plain ones, for the compiler to vectorise where elements lie side by side.
#pragma once

#include <cstring>
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

/// An element of 16 bytes, for what only moves.
struct Sixteen {
  std::uint64_t halves[2];
};

/// f(Tag) of the type's elements.
template <class F>
inline auto with_type(Type type, F&& f) {
  switch (type) {
    case Type::f32: return f(Tag<float>{});
    case Type::f64: return f(Tag<double>{});
    case Type::i8: return f(Tag<std::int8_t>{});
    case Type::u8: return f(Tag<std::uint8_t>{});
    case Type::i32: return f(Tag<std::int32_t>{});
    case Type::i64: return f(Tag<std::int64_t>{});
    case Type::boolean: break;
  }
  return f(Tag<Boolean>{});
}

template <class T>
inline T plain(T x) {
  return x;
}
inline bool plain(Boolean x) { return x.byte != 0; }

/// Two's complement arithmetic without overflow.
template <class T>
inline auto wrapping(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return static_cast<std::uint64_t>(x);
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
  static bool of(bool a, bool b) { return a && b; }
};
struct Or {
  static bool of(bool a, bool b) { return a || b; }
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
    return static_cast<T>(-wrapping(a));
  }
};
struct Abs {
  template <class T>
  static T of(T a) {
    return a < 0 ? Neg::of(a) : a;
  }
};

template <class Integer>
inline Integer saturate(double x) {
  constexpr double low = static_cast<double>(std::numeric_limits<Integer>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<Integer>::max());
  if (x != x) return 0;
  return x <= low    ? std::numeric_limits<Integer>::min()
         : x >= high ? std::numeric_limits<Integer>::max()
                     : static_cast<Integer>(x);
}

template <class To>
struct CastTo {
  template <class From>
  static auto of(From x) {
    if constexpr (std::is_same_v<To, Boolean>) {
      return x != From{0};
    } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
      return saturate<To>(static_cast<double>(x));
    } else {
      return static_cast<To>(x);
    }
  }
};

template <class Op, class In, class Out>
inline void unary_row(const RowArgs& args) noexcept {
  const auto* in = static_cast<const In*>(args.in[0]);
  auto* out = static_cast<Out*>(args.out);
  if (args.step[0] == 1) {
    for (std::size_t i = 0; i < args.count; ++i) out[i] = static_cast<Out>(Op::of(plain(in[i])));
    return;
  }
  for (std::size_t i = 0; i < args.count; ++i, in += args.step[0]) *out++ = static_cast<Out>(Op::of(plain(*in)));
}

template <class Op, class In, class Out>
inline void binary_row(const RowArgs& args) noexcept {
  const auto* a = static_cast<const In*>(args.in[0]);
  const auto* b = static_cast<const In*>(args.in[1]);
  auto* out = static_cast<Out*>(args.out);
  if (args.step[0] == 1 && args.step[1] == 1) {
    for (std::size_t i = 0; i < args.count; ++i) out[i] = static_cast<Out>(Op::of(plain(a[i]), plain(b[i])));
    return;
  }
  if (args.step[0] == 1 && args.step[1] == 0 && args.count > 0) {
    const auto same = plain(*b);
    for (std::size_t i = 0; i < args.count; ++i) out[i] = static_cast<Out>(Op::of(plain(a[i]), same));
    return;
  }
  for (std::size_t i = 0; i < args.count; ++i, a += args.step[0], b += args.step[1])
    *out++ = static_cast<Out>(Op::of(plain(*a), plain(*b)));
}

template <class T>
inline void select_row(const RowArgs& args) noexcept {
  const auto* condition = static_cast<const std::uint8_t*>(args.in[0]);
  const auto* yes = static_cast<const T*>(args.in[1]);
  const auto* no = static_cast<const T*>(args.in[2]);
  auto* out = static_cast<T*>(args.out);
  for (std::size_t i = 0; i < args.count; ++i) {
    *out++ = *condition ? *yes : *no;
    condition += args.step[0];
    yes += args.step[1];
    no += args.step[2];
  }
}

template <class T>
inline void copy_row(const RowArgs& args) noexcept {
  const auto* in = static_cast<const T*>(args.in[0]);
  auto* out = static_cast<T*>(args.out);
  if (args.step[0] == 1) {
    std::memcpy(out, in, args.count * sizeof(T));
    return;
  }
  for (std::size_t i = 0; i < args.count; ++i, in += args.step[0]) out[i] = *in;
}

template <class T>
inline void arg_lines(const ArgArgs& args) noexcept {
  const auto* in = static_cast<const T*>(args.in);
  std::int64_t* out = args.out;
  for (std::size_t o = 0; o < args.outer; ++o, in += args.size * args.inner)
    for (std::size_t i = 0; i < args.inner; ++i) {
      std::size_t best = 0;
      auto held = plain(in[i]);
      for (std::size_t k = 1; k < args.size; ++k) {
        const auto value = plain(in[k * args.inner + i]);
        // no branches: which element is the next extreme cannot be predicted
        const bool better = (args.max & (value > held)) | (!args.max & (value < held));
        const bool taken = better | (args.last & (value == held)) | ((value != value) & (held == held));
        best = taken ? k : best;
        held = taken ? value : held;
      }
      *out++ = static_cast<std::int64_t>(best);
    }
}

template <class Op>
inline RowFn arithmetic(Type type) {
  return with_type(type, []<class T>(Tag<T>) -> RowFn {
    if constexpr (std::is_same_v<T, Boolean> || (std::is_same_v<Op, Div> && !std::is_floating_point_v<T>)) {
      return nullptr;
    } else {
      return binary_row<Op, T, T>;
    }
  });
}

template <class Op>
inline RowFn comparison(Type type) {
  return with_type(type, []<class T>(Tag<T>) -> RowFn { return binary_row<Op, T, std::uint8_t>; });
}

template <class Op>
inline RowFn logic(Type type) {
  return type == Type::boolean ? binary_row<Op, Boolean, std::uint8_t> : nullptr;
}

inline RowFn find_unary(Unary op, Type type) noexcept {
  if (op == Unary::logical_not) return type == Type::boolean ? unary_row<Not, Boolean, std::uint8_t> : nullptr;
  return with_type(type, [op]<class T>(Tag<T>) -> RowFn {
    if constexpr (!std::is_same_v<T, Boolean>) {
      if (op == Unary::is_nan) return unary_row<IsNan, T, std::uint8_t>;
      if constexpr (std::is_signed_v<T>) return op == Unary::neg ? unary_row<Neg, T, T> : unary_row<Abs, T, T>;
    }
    return nullptr;
  });
}

inline RowFn find_binary(Binary op, Type type) noexcept {
  switch (op) {
    case Binary::add: return arithmetic<Add>(type);
    case Binary::sub: return arithmetic<Sub>(type);
    case Binary::mul: return arithmetic<Mul>(type);
    case Binary::min: return arithmetic<Min>(type);
    case Binary::max: return arithmetic<Max>(type);
    case Binary::squared_difference: return arithmetic<SquaredDifference>(type);
    case Binary::div: return arithmetic<Div>(type);
    case Binary::equal: return comparison<Equal>(type);
    case Binary::less: return comparison<Less>(type);
    case Binary::less_or_equal: return comparison<LessOrEqual>(type);
    case Binary::greater: return comparison<Greater>(type);
    case Binary::greater_or_equal: return comparison<GreaterOrEqual>(type);
    case Binary::logical_and: return logic<And>(type);
    case Binary::logical_or: return logic<Or>(type);
    case Binary::logical_xor: return logic<Xor>(type);
  }
  return nullptr;
}

inline RowFn find_cast(Type from, Type to) noexcept {
  return with_type(from, [to]<class From>(Tag<From>) {
    return with_type(to, []<class To>(Tag<To>) -> RowFn {
      using Stored = std::conditional_t<std::is_same_v<To, Boolean>, std::uint8_t, To>;
      return unary_row<CastTo<To>, From, Stored>;
    });
  });
}

inline RowFn find_select(std::size_t bytes) noexcept {
  switch (bytes) {
    case 1: return select_row<std::uint8_t>;
    case 2: return select_row<std::uint16_t>;
    case 4: return select_row<std::uint32_t>;
    case 8: return select_row<std::uint64_t>;
    case 16: return select_row<Sixteen>;
    default: return nullptr;
  }
}

inline RowFn find_copy(std::size_t bytes) noexcept {
  switch (bytes) {
    case 1: return copy_row<std::uint8_t>;
    case 2: return copy_row<std::uint16_t>;
    case 4: return copy_row<std::uint32_t>;
    case 8: return copy_row<std::uint64_t>;
    case 16: return copy_row<Sixteen>;
    default: return nullptr;
  }
}

inline ArgFn find_arg(Type type) noexcept {
  return with_type(type, []<class T>(Tag<T>) -> ArgFn { return arg_lines<T>; });
}

}  // namespace
}  // namespace colonnade::kernels::typed
