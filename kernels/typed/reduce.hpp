// SPDX-License-Identifier: Apache-2.0
// Reductions of integers and doubles of every tier, in loops that the compiler vectorises. The lanes that sums are
// taken in depend on the type alone.
#pragma once

#include <limits>
#include <type_traits>

#include "kernels/typed/elements.hpp"

namespace colonnade::kernels::typed {
namespace {

#if defined(__AVX512F__)
inline constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t kVectorBytes = 32;
#else
inline constexpr std::size_t kVectorBytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::Type;

/// What integers are added and multiplied as, so that they wrap around: X is T or a vector of it.
template <class T>
struct Wrapping {
  using Type = T;
};
template <class T>
requires std::is_integral_v<T>
struct Wrapping<T> {
  using Type = std::make_unsigned_t<T>;
};
template <class T, class X>
using Wrapped =
    std::conditional_t<std::is_same_v<X, T>, typename Wrapping<T>::Type, Vector<typename Wrapping<T>::Type>>;

// Vectors have no other cast that numbers have too.
template <class T, class X>
inline X wrapped_sum(X a, X b) {
  using U = Wrapped<T, X>;
  return (X)((U)a + (U)b);
}
template <class T, class X>
inline X wrapped_product(X a, X b) {
  using U = Wrapped<T, X>;
  return (X)((U)a * (U)b);
}

/// What sums are kept in, where they begin, how an element is added, how sums are, and what becomes of the last one.
template <class T>
struct Summing {
  using Sum = T;
  static constexpr T kFirst{};
  template <class X>
  static X add(X sum, X x) {
    return wrapped_sum<T>(sum, x);
  }
  static T join(T a, T b) { return wrapped_sum<T>(a, b); }
  static T finish(T sum, std::size_t) { return sum; }
};
template <class T>
struct Averaging {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
  static constexpr Sum kFirst{};
  static Sum add(Sum sum, T x) { return wrapped_sum<Sum>(sum, static_cast<Sum>(x)); }
  static Vector<Sum> add(Vector<Sum> sum, Vector<Sum> x) { return wrapped_sum<Sum>(sum, x); }
  static Sum join(Sum a, Sum b) { return wrapped_sum<Sum>(a, b); }
  static T finish(Sum sum, std::size_t count) { return static_cast<T>(sum / static_cast<Sum>(count)); }
};
template <class T>
struct Magnitudes : Summing<T> {
  template <class X>
  static X add(X sum, X x) {
    using U = Wrapped<T, X>;
    return wrapped_sum<T>(sum, x < 0 ? (X)(-(U)x) : x);
  }
};
template <class T>
struct Squares : Summing<T> {
  template <class X>
  static X add(X sum, X x) {
    return wrapped_sum<T>(sum, wrapped_product<T>(x, x));
  }
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
  template <class X>
  static X add(X sum, X x) {
    return wrapped_product<T>(sum, x);
  }
  static T join(T a, T b) { return wrapped_product<T>(a, b); }
  static T finish(T sum, std::size_t) { return sum; }
};
template <class T, bool kMax>
struct Extreme {
  using Sum = T;
  using Limits = std::numeric_limits<T>;
  static constexpr T kFirst = std::is_integral_v<T> ? (kMax ? Limits::min() : Limits::max())
                                                    : (kMax ? -Limits::infinity() : Limits::infinity());
  template <class X>
  static X add(X held, X x) {
    if constexpr (kMax)
      return ((x > held) | (x != x)) ? x : held;
    else
      return ((x < held) | (x != x)) ? x : held;
  }
  static T join(T a, T b) { return add(a, b); }
  static T finish(T held, std::size_t) { return held; }
};

/// Adds the first elements of a line to as many sums as fill 256 bytes, in registers where these are enough, and says
/// how many that were.
template <class T, class Op>
inline std::size_t add_vectors(const T* in, std::size_t size, T* sums) {
  constexpr std::size_t kLanes = 256 / sizeof(T), kVectors = 256 / kVectorBytes, kEach = kVectorBytes / sizeof(T);
  Vector<T> held[kVectors];
#pragma GCC unroll 16
  for (std::size_t v = 0; v < kVectors; ++v) __builtin_memcpy(&held[v], sums + v * kEach, kVectorBytes);
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < kVectors; ++v) {
      Vector<T> x;
      __builtin_memcpy(&x, in + i + v * kEach, kVectorBytes);
      held[v] = Op::add(held[v], x);
    }
  }
#pragma GCC unroll 16
  for (std::size_t v = 0; v < kVectors; ++v) __builtin_memcpy(sums + v * kEach, &held[v], kVectorBytes);
  return i;
}

/// Of a line side by side.
template <class T, class Op>
inline T reduce_line(const T* in, std::size_t size) {
  using Sum = typename Op::Sum;
  constexpr std::size_t kLanes = 256 / sizeof(Sum);
  Sum sums[kLanes];
  for (Sum& sum : sums) sum = Op::kFirst;
  std::size_t i = 0;
  if constexpr (std::is_same_v<Sum, T>) i = add_vectors<T, Op>(in, size, sums);
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
