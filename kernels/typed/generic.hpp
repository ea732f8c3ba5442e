// SPDX-License-Identifier: Apache-2.0
// Which loop does what, of every tier.
#pragma once

#include "kernels/typed/extremes.hpp"
#include "kernels/typed/rows.hpp"

namespace colonnade::kernels::typed {
namespace {

/// Of all numbers.
template <class Op>
inline RowFn arithmetic(Type type) {
  return with_type(type, []<class T>(Tag<T>) -> RowFn {
    if constexpr (std::is_same_v<T, Boolean>) {
      return nullptr;
    } else {
      return binary_row<Op, T, T>;
    }
  });
}

/// Of integers, which is undefined for a divisor of zero; of real numbers there may be another way.
template <class Op, class Real>
inline RowFn division(Type type) {
  return with_type(type, []<class T>(Tag<T>) -> RowFn {
    if constexpr (kIsInteger<T>) {
      return division_row<Op, T>;
    } else if constexpr (kIsReal<T> && !std::is_void_v<Real>) {
      return binary_row<Real, T, T>;
    } else {
      return nullptr;
    }
  });
}

inline RowFn powers(Type type) {
  return with_type(type, []<class T>(Tag<T>) -> RowFn {
    if constexpr (kIsInteger<T>) {
      return pow_row<T>;
    } else if constexpr (std::is_same_v<T, double>) {
      return binary_row<Pow, T, T>;
    } else {
      return nullptr;
    }
  });
}

template <class Op, bool with_signed>
inline RowFn of_bits(Type type) {
  return with_type(type, []<class T>(Tag<T>) -> RowFn {
    if constexpr (kIsInteger<T> && (with_signed || std::is_unsigned_v<T>)) {
      return binary_row<Op, T, T>;
    } else {
      return nullptr;
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

template <class Op>
inline RowFn test_of_reals(Type type) {
  if (type == Type::f32) return unary_row<Op, float, std::uint8_t>;
  return type == Type::f64 ? unary_row<Op, double, std::uint8_t> : nullptr;
}

/// A function that keeps the type, of some kinds of numbers.
template <class Op, bool of_reals, bool of_signed, bool of_unsigned>
inline RowFn function(Type type) {
  return with_type(type, []<class T>(Tag<T>) -> RowFn {
    if constexpr (std::is_same_v<T, Boolean>) {
      return nullptr;
    } else if constexpr (kIsReal<T> ? of_reals : std::is_signed_v<T> ? of_signed : of_unsigned) {
      return unary_row<Op, T, T>;
    } else {
      return nullptr;
    }
  });
}

template <class Op>
inline RowFn function_of_doubles(Type type) {
  return type == Type::f64 ? unary_row<Op, double, double> : nullptr;
}

inline RowFn find_unary(Unary op, Type type) noexcept {
  switch (op) {
    case Unary::logical_not: return type == Type::boolean ? unary_row<Not, Boolean, std::uint8_t> : nullptr;
    case Unary::is_nan: return test_of_reals<IsNan>(type);
    case Unary::is_inf: return test_of_reals<IsInf>(type);
    case Unary::neg: return function<Neg, true, true, false>(type);
    case Unary::abs: return function<Abs, true, true, false>(type);
    case Unary::sign: return function<Sign, true, true, true>(type);
    case Unary::relu: return function<Relu, true, true, false>(type);
    case Unary::bitwise_not: return function<BitNot, false, true, true>(type);
    case Unary::square: return function<Square, true, true, true>(type);
    case Unary::floor: return function_of_doubles<Floor>(type);
    case Unary::ceil: return function_of_doubles<Ceil>(type);
    case Unary::round: return function_of_doubles<Round>(type);
    case Unary::sqrt: return function_of_doubles<Sqrt>(type);
    case Unary::reciprocal: return function_of_doubles<Reciprocal>(type);
    case Unary::exp: return function_of_doubles<Exp>(type);
    case Unary::sigmoid: return function_of_doubles<Sigmoid>(type);
    case Unary::tanh: return function_of_doubles<Tanh>(type);
    case Unary::log: return function_of_doubles<Log>(type);
    case Unary::erf: return function_of_doubles<Erf>(type);
    case Unary::sin: return type == Type::f64 ? periodic_row<Sin> : nullptr;
    case Unary::cos: return type == Type::f64 ? periodic_row<Cos> : nullptr;
  }
  return nullptr;
}

inline RowFn find_binary(Binary op, Type type) noexcept {
  switch (op) {
    case Binary::add: return arithmetic<Add>(type);
    case Binary::sub: return arithmetic<Sub>(type);
    case Binary::mul: return arithmetic<Mul>(type);
    case Binary::min: return arithmetic<Min>(type);
    case Binary::max: return arithmetic<Max>(type);
    case Binary::squared_difference: return arithmetic<SquaredDifference>(type);
    case Binary::prelu: return arithmetic<Prelu>(type);
    case Binary::div: return division<Quotient, Div>(type);
    case Binary::mod: return division<Mod, void>(type);
    case Binary::fmod: return division<Fmod, RealFmod>(type);
    case Binary::pow: return powers(type);
    case Binary::bitwise_and: return of_bits<BitAnd, true>(type);
    case Binary::bitwise_or: return of_bits<BitOr, true>(type);
    case Binary::bitwise_xor: return of_bits<BitXor, true>(type);
    case Binary::shift_left: return of_bits<ShiftLeft, false>(type);
    case Binary::shift_right: return of_bits<ShiftRight, false>(type);
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

/// What instructions there are for vectors: of integers of 64 bits as real numbers, and of real numbers as integers
/// that saturate.
#if defined(__aarch64__)
inline constexpr bool kLongCasts = true, kSaturates = true;
#elif defined(__AVX512DQ__)
inline constexpr bool kLongCasts = true, kSaturates = false;
#else
inline constexpr bool kLongCasts = false, kSaturates = false;
#endif

inline RowFn find_cast(Type from, Type to) noexcept {
  return with_type(from, [to]<class From>(Tag<From>) {
    return with_type(to, []<class To>(Tag<To>) -> RowFn {
      using Stored = std::conditional_t<std::is_same_v<To, Boolean>, std::uint8_t, To>;
      if constexpr (!kSaturates && kIsReal<From> && kIsInteger<To> && sizeof(To) >= 4)
        return fitting_cast_row<From, To>;
      if constexpr (!kLongCasts && kIsInteger<From> && sizeof(From) == 8 && kIsReal<To>)
        return fitting_real_row<From, To>;
      if constexpr (kPacks && std::is_same_v<From, float> && kIsInteger<To> && sizeof(To) == 2)
        return short_cast_row<To>;
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
