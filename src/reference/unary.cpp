// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "reference/elements.hpp"
#include "reference/families.hpp"

namespace colonnade::reference {
namespace {

template <class Integer>
constexpr Integer negate(Integer x) {
  return static_cast<Integer>(0 - static_cast<std::uint64_t>(x));
}

/// A clip's bound as an element of the integer type: saturated.
template <class Integer>
Integer bound_of(float limit, DType dtype) {
  Tensor as_real(DType::f32, {1}), as_integer(dtype, {1});
  as_real.values<float>()[0] = limit;
  double real = 0;
  load(as_real, 0, 1, &real);
  store(&real, 1, as_integer, 0);
  Integer value{};
  load(as_integer, 0, 1, &value);
  return value;
}

template <class C>
struct Bounds {
  C low, high;
};

template <class Integer>
Integer integer_value(UnaryKind kind, Integer x, const Bounds<Integer>& bounds, const Call& call) {
  using enum UnaryKind;
  constexpr Integer kZero = 0;
  if (kind == identity || kind == floor || kind == ceil || kind == round) return x;
  if (kind == relu) return std::max(x, kZero);
  if (kind == clip) return std::min(std::max(x, bounds.low), bounds.high);
  if (kind == UnaryKind::abs) return x < kZero ? negate(x) : x;
  if (kind == neg) return negate(x);
  if (kind == sign) return static_cast<Integer>(static_cast<int>(x > kZero) - static_cast<int>(x < kZero));
  if (kind == square) return static_cast<Integer>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(x));
  if (kind == logical_not) return static_cast<Integer>(x == kZero);
  if (kind == bitwise_not) return static_cast<Integer>(~x);
  if (kind == is_nan || kind == is_inf) return kZero;
  call.unsupported("{} of {}", name_of(kind), name_of(call.input(0).dtype()));
}

template <class C>
void evaluate_block(const Unary& unary, const Call& call, std::span<C> values) {
  if constexpr (std::is_same_v<C, double>) {
    for (double& x : values) x = unary_value(unary, x);
  } else {
    Bounds<C> bounds{};
    const DType dtype = call.input(0).dtype();
    if (unary.kind == UnaryKind::clip) bounds = {bound_of<C>(unary.a, dtype), bound_of<C>(unary.b, dtype)};
    for (C& x : values) x = integer_value(unary.kind, x, bounds, call);
  }
}

}  // namespace

double unary_value(const Unary& unary, double x) {
  return function_of(unary.kind).value(x, static_cast<double>(unary.a), static_cast<double>(unary.b));
}

Tensors apply(const Unary& unary, const Call& call) {
  const Tensor& x = call.input(0);
  if (unary.kind == UnaryKind::identity) return {x};
  if (unary.kind == UnaryKind::bitwise_not && is_real(x.dtype()))
    call.unsupported("bitwise_not of {}", name_of(x.dtype()));
  Tensor y(call.dtype(), x.shape());
  visit_compute(x.dtype(), call, [&]<class C>(Tag<C>) {
    C block[kBlock];
    for (std::int64_t begin = 0; begin < x.size(); begin += kBlock) {
      const std::int64_t count = std::min(kBlock, x.size() - begin);
      load(x, begin, count, block);
      evaluate_block(unary, call, std::span<C>(block, static_cast<std::size_t>(count)));
      store(block, count, y, begin);
    }
  });
  return {std::move(y)};
}

}  // namespace colonnade::reference
