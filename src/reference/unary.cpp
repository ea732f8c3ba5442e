// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "reference/elements.hpp"
#include "reference/families.hpp"

namespace colonnade::reference {
namespace {

constexpr std::int64_t kBlock = 1024;

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double unit_clip(double x) { return x > 1 ? 1 : (x < 0 ? 0 : x); }
double clip(double x, double low, double high) {
  const double raised = x < low ? low : x;
  return raised > high ? high : raised;
}
double gelu_erf(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }
double gelu_tanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}
double sign(double x) { return x > 0 ? 1 : (x < 0 ? -1 : x); }

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
  constexpr Integer kZero = 0;
  switch (kind) {
    case UnaryKind::identity:
    case UnaryKind::floor:
    case UnaryKind::ceil:
    case UnaryKind::round: return x;
    case UnaryKind::relu: return std::max(x, kZero);
    case UnaryKind::clip: return std::min(std::max(x, bounds.low), bounds.high);
    case UnaryKind::abs: return x < kZero ? negate(x) : x;
    case UnaryKind::neg: return negate(x);
    case UnaryKind::sign: return static_cast<Integer>(static_cast<int>(x > kZero) - static_cast<int>(x < kZero));
    case UnaryKind::square: return static_cast<Integer>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(x));
    case UnaryKind::logical_not: return static_cast<Integer>(x == kZero);
    case UnaryKind::bitwise_not: return static_cast<Integer>(~x);
    case UnaryKind::is_nan: return kZero;
    default: break;
  }
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
  const double a = static_cast<double>(unary.a);
  const double b = static_cast<double>(unary.b);
  switch (unary.kind) {
    case UnaryKind::identity: return x;
    case UnaryKind::relu: return x < 0 ? 0 : x;
    case UnaryKind::clip: return clip(x, a, b);
    case UnaryKind::leaky_relu: return x < 0 ? a * x : x;
    case UnaryKind::sigmoid: return sigmoid(x);
    case UnaryKind::hard_sigmoid: return unit_clip(a * x + b);
    case UnaryKind::hard_swish: return x * unit_clip(x / 6 + 0.5);
    case UnaryKind::silu: return x * sigmoid(x);
    case UnaryKind::tanh: return std::tanh(x);
    case UnaryKind::gelu_erf: return gelu_erf(x);
    case UnaryKind::gelu_tanh: return gelu_tanh(x);
    case UnaryKind::elu: return x < 0 ? a * std::expm1(x) : x;
    case UnaryKind::selu: return x > 0 ? b * x : b * a * std::expm1(x);
    case UnaryKind::celu: return x < 0 ? a * std::expm1(x / a) : x;
    case UnaryKind::thresholded_relu: return x > a ? x : 0;
    case UnaryKind::softplus: return softplus(x);
    case UnaryKind::softsign: return x / (1 + std::abs(x));
    case UnaryKind::mish: return x * std::tanh(softplus(x));
    case UnaryKind::exp: return std::exp(x);
    case UnaryKind::log: return std::log(x);
    case UnaryKind::erf: return std::erf(x);
    case UnaryKind::sqrt: return std::sqrt(x);
    case UnaryKind::reciprocal: return 1 / x;
    case UnaryKind::abs: return std::abs(x);
    case UnaryKind::neg: return -x;
    case UnaryKind::sign: return sign(x);
    case UnaryKind::square: return x * x;
    case UnaryKind::floor: return std::floor(x);
    case UnaryKind::ceil: return std::ceil(x);
    case UnaryKind::round: return std::nearbyint(x);
    case UnaryKind::sin: return std::sin(x);
    case UnaryKind::cos: return std::cos(x);
    case UnaryKind::tan: return std::tan(x);
    case UnaryKind::asin: return std::asin(x);
    case UnaryKind::acos: return std::acos(x);
    case UnaryKind::atan: return std::atan(x);
    case UnaryKind::sinh: return std::sinh(x);
    case UnaryKind::cosh: return std::cosh(x);
    case UnaryKind::asinh: return std::asinh(x);
    case UnaryKind::acosh: return std::acosh(x);
    case UnaryKind::atanh: return std::atanh(x);
    case UnaryKind::logical_not: return x == 0 ? 1 : 0;
    case UnaryKind::is_nan: return std::isnan(x) ? 1 : 0;
    case UnaryKind::bitwise_not: break;
  }
  fail(ErrorCode::unsupported, "{} of a real number", name_of(unary.kind));
}

Tensors apply(const Unary& unary, const Call& call) {
  const Tensor& x = call.input(0);
  if (unary.kind == UnaryKind::identity) return {x};
  if (unary.kind == UnaryKind::bitwise_not && is_real(x.dtype()))
    call.unsupported("bitwise_not of {}", name_of(x.dtype()));
  Tensor y(call.dtype(), x.shape());
  visit_compute(x.dtype(), call.where(), [&]<class C>(Tag<C>) {
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
