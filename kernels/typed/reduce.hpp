// SPDX-License-Identifier: Apache-2.0
// Reductions of integers and doubles of every tier, in loops that the compiler vectorises. The lanes that sums are
// taken in depend on the type alone.
#pragma once

#include <limits>
#include <type_traits>

#include "kernels/typed/elements.hpp"

namespace colonnade::kernels::typed {
namespace {

/// a + b and a * b of integers wrap around.
template <class T>
inline T wrapped_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <class T>
inline T wrapped_product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else {
    return a * b;
  }
}

/// What sums are kept in, where they begin, how an element is added, how sums are, and what becomes of the last one.
template <class T>
struct Summing {
  using Sum = T;
  static constexpr T kFirst{};
  static T add(T sum, T x) { return wrapped_sum(sum, x); }
  static T join(T a, T b) { return wrapped_sum(a, b); }
  static T finish(T sum, std::size_t) { return sum; }
};
template <class T>
struct Averaging {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
  static constexpr Sum kFirst{};
  static Sum add(Sum sum, T x) { return wrapped_sum(sum, static_cast<Sum>(x)); }
  static Sum join(Sum a, Sum b) { return wrapped_sum(a, b); }
  static T finish(Sum sum, std::size_t count) { return static_cast<T>(sum / static_cast<Sum>(count)); }
};
template <class T>
struct Magnitudes : Summing<T> {
  static T add(T sum, T x) {
    if constexpr (std::is_integral_v<T>)
      return wrapped_sum(sum, x < 0 ? wrapped_product(x, T{-1}) : x);
    else
      return sum + (x < 0 ? -x : x);
  }
};
template <class T>
struct Squares : Summing<T> {
  static T add(T sum, T x) { return wrapped_sum(sum, wrapped_product(x, x)); }
};
struct Lengths : Squares<double> {
  static double finish(double sum, std::size_t) { return __builtin_sqrt(sum); }
};
struct Logarithms : Summing<double> {
  static double finish(double sum, std::size_t) { return __builtin_log(sum); }
};
template <class T>
struct Multiplying {
  using Sum = T;
  static constexpr T kFirst{1};
  static T add(T sum, T x) { return wrapped_product(sum, x); }
  static T join(T a, T b) { return wrapped_product(a, b); }
  static T finish(T sum, std::size_t) { return sum; }
};
template <class T, bool kMax>
struct Extreme {
  using Sum = T;
  using Limits = std::numeric_limits<T>;
  static constexpr T kFirst = std::is_integral_v<T> ? (kMax ? Limits::min() : Limits::max())
                                                    : (kMax ? -Limits::infinity() : Limits::infinity());
  static T add(T held, T x) { return ((kMax ? x > held : x < held) | (x != x)) ? x : held; }
  static T join(T a, T b) { return add(a, b); }
  static T finish(T held, std::size_t) { return held; }
};

/// Of a line side by side.
template <class T, class Op>
inline T reduce_line(const T* in, std::size_t size) {
  using Sum = typename Op::Sum;
  constexpr std::size_t kLanes = 256 / sizeof(Sum);
  Sum sums[kLanes];
  for (Sum& sum : sums) sum = Op::kFirst;
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] = Op::add(sums[lane], in[i + lane]);
  for (std::size_t lane = 0; i + lane < size; ++lane) sums[lane] = Op::add(sums[lane], in[i + lane]);
  const std::size_t used = size < kLanes ? size : kLanes;
  std::size_t width = kLanes;
  while (width / 2 >= used && width > 1) width /= 2;
  for (; width > 1; width /= 2)
    for (std::size_t lane = 0; lane < width / 2; ++lane) sums[lane] = Op::join(sums[lane], sums[lane + width / 2]);
  return Op::finish(sums[0], size);
}

/// Of lines that lie beside each other.
template <class T, class Op>
inline void reduce_beside(const T* in, T* out, std::size_t size, std::size_t inner, std::size_t lines) {
  using Sum = typename Op::Sum;
  constexpr std::size_t kLines = 256;
  for (std::size_t first = 0; first < lines; first += kLines) {
    const std::size_t n = lines - first < kLines ? lines - first : kLines;
    Sum sums[kLines];
    for (std::size_t i = 0; i < n; ++i) sums[i] = Op::kFirst;
    for (std::size_t k = 0; k < size; ++k) {
      const T* row = in + k * inner + first;
      for (std::size_t i = 0; i < n; ++i) sums[i] = Op::add(sums[i], row[i]);
    }
    for (std::size_t i = 0; i < n; ++i) out[first + i] = Op::finish(sums[i], size);
  }
}

template <class T, class Op>
void reduce_lines(const ReduceArgs& args) noexcept {
  const auto* in = static_cast<const T*>(args.in);
  auto* out = static_cast<T*>(args.out);
  for (std::size_t o = 0; o < args.outer; ++o, in += args.size * args.inner, out += args.inner) {
    if (args.inner == 1)
      *out = reduce_line<T, Op>(in, args.size);
    else
      reduce_beside<T, Op>(in, out, args.size, args.inner, args.lines);
  }
}

template <class T>
inline ReduceFn reduction_of_bytes(Reduction op) {
  if (op == Reduction::max) return reduce_lines<T, Extreme<T, true>>;
  return op == Reduction::min ? reduce_lines<T, Extreme<T, false>> : nullptr;
}

template <class T>
inline ReduceFn reduction_of(Reduction op) {
  switch (op) {
    case Reduction::sum: return reduce_lines<T, Summing<T>>;
    case Reduction::mean: return reduce_lines<T, Averaging<T>>;
    case Reduction::max: return reduce_lines<T, Extreme<T, true>>;
    case Reduction::min: return reduce_lines<T, Extreme<T, false>>;
    case Reduction::prod: return reduce_lines<T, Multiplying<T>>;
    case Reduction::l1: return reduce_lines<T, Magnitudes<T>>;
    case Reduction::sum_square: return reduce_lines<T, Squares<T>>;
    case Reduction::l2: return std::is_same_v<T, double> ? reduce_lines<double, Lengths> : nullptr;
    case Reduction::log_sum: return std::is_same_v<T, double> ? reduce_lines<double, Logarithms> : nullptr;
  }
  return nullptr;
}

inline ReduceFn find_reduce(Reduction op, Type type) noexcept {
  switch (type) {
    case Type::boolean:  // false and true are 0 and 1
    case Type::u8: return reduction_of_bytes<std::uint8_t>(op);
    case Type::i8: return reduction_of_bytes<std::int8_t>(op);
    case Type::i32: return reduction_of<std::int32_t>(op);
    case Type::i64: return reduction_of<std::int64_t>(op);
    case Type::f64: return reduction_of<double>(op);
    case Type::f32:
    case Type::i16:
    case Type::u16:
    case Type::u32:
    case Type::u64: break;
  }
  return nullptr;
}

}  // namespace
}  // namespace colonnade::kernels::typed
