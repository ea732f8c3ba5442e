// SPDX-License-Identifier: Apache-2.0
// Elementary functions of a Vec, within 4 units in the last place over all floats: infinities, NaN and subnormals
// included. tanh is off by up to 6, and never beyond 1. Three have wider bounds where they vanish: sigmoid is off by up
// to 2^-125 and x * sigmoid(x) by 2^-118, gelu_erf by 2^-22 |x|; gelu_tanh loses 3 |u| units for an argument u =
// 2 sqrt(2 / pi) (x + 0.044715 x^3) of its exponential.
// As simd.hpp, everything lives in an anonymous namespace and is compiled once per tier.
#pragma once

#include <cstddef>

#include "kernels/base/erf.hpp"
#include "kernels/base/simd.hpp"
#include "kernels/base/unary.hpp"

namespace colonnade::kernels {
namespace {

/// Coefficients from the highest power down.
template <class... Rest>
inline Vec polynomial(Vec x, float highest, Rest... rest) {
  Vec sum = broadcast(highest);
  ((sum = fma(sum, x, broadcast(rest))), ...);
  return sum;
}

/// fraction in [-0.35, 0.35] and integral n with x + low = n ln 2 + fraction.
struct Reduced {
  Vec fraction;
  Vec n;
};

/// x in [-200, 200]; low is small against ln 2. The constants are exact without FMA: n * 355 / 512 needs 18 bits.
inline Reduced reduce_exp(Vec x, Vec low) {
  const Vec magic = broadcast(12582912.0f);
  const Vec n = fma(x + low, broadcast(1.442695041f), magic) - magic;
  const Vec fraction = fnma(n, broadcast(-2.12194440e-4f), fnma(n, broadcast(0.693359375f), x));
  return {fraction + low, n};
}

inline Reduced reduce_exp(Vec x) {
  const Vec magic = broadcast(12582912.0f);
  const Vec n = fma(x, broadcast(1.442695041f), magic) - magic;
  return {fnma(n, broadcast(-2.12194440e-4f), fnma(n, broadcast(0.693359375f), x)), n};
}

/// exp(r) - 1 for |r| <= 0.35.
inline Vec expm1_fraction(Vec r) {
  const Vec tail = polynomial(r, 1.394649385e-03f, 8.366610855e-03f, 4.166628048e-02f, 1.666654348e-01f, 0.5f);
  return fma(r * r, tail, r);
}

/// A product left unevaluated, value * 2^n, so that a factor can be multiplied in before the result underflows.
struct Scaled {
  Vec value;
  Vec n;
};

inline Scaled scaled(Reduced r) { return {expm1_fraction(r.fraction) + broadcast(1.0f), r.n}; }

inline Vec exp(Vec x) {
  const Vec clamped = max(broadcast(-104.0f), min(broadcast(89.0f), x));
  const Scaled e = scaled(reduce_exp(clamped));
  return scale2(e.value, e.n);
}

/// exp(x) for x <= 0. The magic number rounds, and leaves the exponent's bits of 2^n in the lowest place: none from
/// -88 on, so that what would be smaller is 0.
inline Vec exp_of_negative(Vec x) {
  if constexpr (Vec::kLanes == 16) return exp(x);  // scales by any power at once
  const Vec magic = broadcast(12582912.0f + 127.0f), above = max(broadcast(-88.0f), x);
  const Vec shifted = fma(above, broadcast(1.442695041f), magic);
  const Vec n = shifted - magic;
  const Vec fraction = fnma(n, broadcast(-2.12194440e-4f), fnma(n, broadcast(0.693359375f), above));
  return (expm1_fraction(fraction) + broadcast(1.0f)) * low_bits_to_exponent(shifted);
}

/// exp(x) - 1 for x < 88.
inline Vec expm1(Vec x) {
  const Reduced r = reduce_exp(max(broadcast(-40.0f), x));
  const Vec power = scale2(broadcast(1.0f), r.n);
  return fma(power, expm1_fraction(r.fraction), power - broadcast(1.0f));
}

/// log(1 + f) + n ln 2 for f in [sqrt 1/2 - 1, sqrt 2 - 1].
inline Vec log_core(Vec f, Vec n) {
  const Vec square = f * f;
  const Vec tail =
      polynomial(f, 6.746591628e-02f, -1.167563871e-01f, 1.188817769e-01f, -1.240559220e-01f, 1.421955079e-01f,
                 -1.666799635e-01f, 2.000211924e-01f, -2.500000894e-01f, 3.333331347e-01f);
  const Vec low = fma(n, broadcast(-2.12194440e-4f), fma(square * f, tail, square * broadcast(-0.5f)));
  return fma(n, broadcast(0.693359375f), f + low);
}

inline Vec log(Vec x) {
  Vec normal = x;
  Vec n = zero();
  if constexpr (Vec::kLanes != 16) {
    const Mask tiny = less(x, broadcast(1.17549435e-38f));
    normal = select(tiny, x * broadcast(8388608.0f), x);
    n = select(tiny, broadcast(-23.0f), n);
  }
  Vec m = mantissa(normal);
  n = n + exponent(normal);
  const Mask upper = less(broadcast(1.41421356f), m);
  m = select(upper, m * broadcast(0.5f), m);
  n = select(upper, n + broadcast(1.0f), n);
  const Vec inf = broadcast(__builtin_inff());
  Vec y = log_core(m - broadcast(1.0f), n);
  y = select(less(x, inf), y, x);
  y = select(less(zero(), x), y, select(less(x, zero()), broadcast(__builtin_nanf("")), zero() - inf));
  return select(is_nan(x), x, y);
}

/// log(1 + e) for e in [0, 1].
inline Vec log1p_unit(Vec e) {
  const Mask upper = less(broadcast(0.414213562f), e);
  const Vec half = broadcast(0.5f);
  return log_core(select(upper, fma(e, half, zero() - half), e), select(upper, broadcast(1.0f), zero()));
}

/// A rational function that meets tanh to 2^-26 up to 8, where the limit is 4 units away: no result is above it.
inline Vec tanh(Vec x) {
  const Vec z = min(broadcast(8.0f), max(broadcast(-8.0f), x));
  const Vec s = z * z;
  const Vec p = polynomial(s, 1.523039117e-08f, 2.189464249e-05f, 3.571596928e-03f, 1.344449669e-01f, 1.0f);
  const Vec q = polynomial(s, 8.522436019e-07f, 3.411290236e-04f, 2.616443858e-02f, 4.677782357e-01f, 1.0f);
  return z * p * reciprocal(q);
}

#if !defined(__AVX2__)
inline Vec erf(Vec x) {
  const Vec one = broadcast(1.0f);
  const Vec z = abs(x);
  const Vec near = fma(z,
                       polynomial(z * z, 7.853854186e-05f, -8.010191377e-04f, 5.188327283e-03f, -2.685381100e-02f,
                                  1.128358543e-01f, -3.761262596e-01f, 1.283791661e-01f),
                       z);
  const Vec exponent_of_rest =
      polynomial(min(broadcast(4.0f), z), 1.855748997e-04f, -2.939615631e-03f, 2.180535160e-02f, -1.030374318e-01f,
                 -6.382256150e-01f, -1.127040029e+00f, -3.537089215e-04f);
  return copy_sign(select(less(z, one), near, one - exp_of_negative(exponent_of_rest)), x);
}
#endif

/// sigmoid(x) for |x| <= 87: 1 / (1 + 2^n exp(-r)) with x = r - n ln 2. The magic number rounds, and leaves the
/// exponent's bits of 2^n in the lowest place.
inline Vec sigmoid_inside(Vec x) {
  const Vec magic = broadcast(12582912.0f + 127.0f);
  const Vec shifted = fma(x, broadcast(-1.442695041f), magic);
  const Vec n = shifted - magic;
  const Vec r = fma(n, broadcast(-2.12194440e-4f), fma(n, broadcast(0.693359375f), x));
  const Vec power =
      polynomial(r, -8.289842222e-03f, 4.190027290e-02f, -1.666765641e-01f, 4.999913228e-01f, -9.999996981e-01f, 1.0f);
  return reciprocal(fma(power, low_bits_to_exponent(shifted), broadcast(1.0f)));
}

inline Vec sigmoid(Vec x) { return sigmoid_inside(min(broadcast(87.0f), max(broadcast(-87.0f), x))); }

/// x * sigmoid(u), where u has the sign of x.
inline Vec gated(Vec x, Vec u) { return max(broadcast(-87.0f), x) * sigmoid(u); }

inline Vec silu(Vec x) {
  const Vec above = max(broadcast(-87.0f), x);
  return above * sigmoid_inside(min(broadcast(87.0f), above));
}

/// x * Phi(x), where Phi(x) - 1/2 is x times a rational function of x^2 that meets its limits at 5.4.
inline Vec gelu_erf(Vec x) {
  const Vec above = max(broadcast(-5.4f), x);
  const Vec z = min(broadcast(5.4f), above);
  const Vec s = z * z;
  const Vec p = polynomial(s, 2.338664253e-08f, 6.360017705e-06f, 1.643223144e-04f, 4.650854793e-03f, 3.337229605e-02f,
                           3.989422454e-01f);
  const Vec q =
      polynomial(s, 1.216588134e-06f, 7.240034996e-05f, 1.858985005e-03f, 2.837872470e-02f, 2.503180298e-01f, 1.0f);
  return above * fma(z * p, reciprocal(q), broadcast(0.5f));
}

inline Vec gelu_tanh(Vec x) { return gated(x, x * fma(x * x, broadcast(7.135481282e-02f), broadcast(1.595769122f))); }

inline Vec softplus(Vec x) { return max(zero(), x) + log1p_unit(exp(zero() - abs(x))); }

/// x * w / (w + 2) with w = e (e + 2) and e = exp(x).
inline Vec mish(Vec x) {
  const Vec two = broadcast(2.0f);
  const Vec clamped = max(broadcast(-126.0f), x);
  const Scaled r = scaled(reduce_exp(min(broadcast(20.0f), clamped)));
  const Vec e = scale2(r.value, r.n);
  const Vec factor = (e + two) * reciprocal(fma(e, e + two, two));
  return select(less(x, zero()), scale2(clamped * r.value, r.n) * factor, x * (e * factor));
}

// One functor a row of COLONNADE_UNARY. kSlope: the call takes the slopes of the vector's channels as well.
struct Plain {
  static constexpr bool kSlope = false;
  explicit Plain(const UnaryOp&) {}
};
struct Identity : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return x; }
};
struct Relu : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return max(zero(), x); }
};
struct WithParameters {
  static constexpr bool kSlope = false;
  Vec a, b;
  explicit WithParameters(const UnaryOp& op) : a(broadcast(op.a)), b(broadcast(op.b)) {}
};
struct Clip : WithParameters {
  using WithParameters::WithParameters;
  Vec operator()(Vec x) const { return min(b, max(a, x)); }
};
struct Steps : WithParameters {
  Vec last;
  explicit Steps(const UnaryOp& op) : WithParameters(op), last(broadcast(op.b + 65535.0f)) {}
  Vec operator()(Vec x) const { return min(last, max(b, round(x / a))) * a; }
};
struct LeakyRelu : WithParameters {
  using WithParameters::WithParameters;
  Vec operator()(Vec x) const { return select(less(x, zero()), a * x, x); }
};
struct Prelu : Plain {
  static constexpr bool kSlope = true;
  using Plain::Plain;
  Vec operator()(Vec x, Vec slope) const { return select(less(x, zero()), slope * x, x); }
};
struct Sigmoid : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return sigmoid(x); }
};
struct HardSigmoid : WithParameters {
  using WithParameters::WithParameters;
  Vec operator()(Vec x) const { return min(broadcast(1.0f), max(zero(), fma(a, x, b))); }
};
struct HardSwish : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const {
    return x * min(broadcast(1.0f), max(zero(), fma(x, broadcast(1.0f / 6.0f), broadcast(0.5f))));
  }
};
struct Silu : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return silu(x); }
};
struct Tanh : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return tanh(x); }
};
struct GeluErf : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return gelu_erf(x); }
};
struct GeluTanh : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return gelu_tanh(x); }
};
struct Elu : WithParameters {
  using WithParameters::WithParameters;
  Vec operator()(Vec x) const { return select(less(x, zero()), a * expm1(min(zero(), x)), x); }
};
struct Selu : WithParameters {
  using WithParameters::WithParameters;
  Vec operator()(Vec x) const { return b * select(less(x, zero()), a * expm1(min(zero(), x)), x); }
};
struct Softplus : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return softplus(x); }
};
struct Softsign : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return x / (broadcast(1.0f) + abs(x)); }
};
struct Mish : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return mish(x); }
};
struct Exp : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return exp(x); }
};
struct Log : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return log(x); }
};
struct Erf : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return erf(x); }
};
struct Reciprocal : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return broadcast(1.0f) / x; }
};
struct Abs : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return abs(x); }
};
struct Neg : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return -x; }
};
struct Square : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return x * x; }
};
template <Vec (*kFunction)(Vec)>
struct Mapped : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const { return kFunction(x); }
};
using Sqrt = Mapped<sqrt>;
using Floor = Mapped<floor>;
using Ceil = Mapped<ceil>;
using Round = Mapped<round>;
struct Affine : WithParameters {
  using WithParameters::WithParameters;
  Vec operator()(Vec x) const { return fma(a, x, b); }
};

/// Calls f with the functor of op.kind: a branch outside the loop, and a copy of f for every function.
template <class F>
inline void with_unary(const UnaryOp& op, F f) {
  switch (op.kind) {
#define COLONNADE_CASE(name, Functor) \
  case Unary::name: return f(Functor(op));
    COLONNADE_UNARY(COLONNADE_CASE)
#undef COLONNADE_CASE
  }
}

/// f(x) for kLanes channels, or for the first n of them; slope points to the slopes of these channels (prelu only).
template <class F>
inline Vec call(const F& f, Vec x, const float* slope) {
  if constexpr (F::kSlope)
    return f(x, load(slope));
  else
    return f(x);
}
template <class F>
inline Vec call_first(const F& f, Vec x, const float* slope, std::size_t n) {
  if constexpr (F::kSlope)
    return f(x, load_first(slope, n));
  else
    return f(x);
}

/// out[i] = f(in[i]) for as many whole vectors as `count` floats hold; slope as for call. Four at a time, since most
/// functions are one long chain of operations. `in` may be `out`.
template <class F>
inline void map_vectors(const F& f, const float* in, float* out, std::size_t count, const float* slope) {
  constexpr std::size_t kStep = Vec::kLanes;
  std::size_t i = 0;
  for (; i + 4 * kStep <= count; i += 4 * kStep) {
    const float* const s = F::kSlope ? slope + i : nullptr;
    const Vec y0 = call(f, load(in + i), s);
    const Vec y1 = call(f, load(in + i + kStep), F::kSlope ? s + kStep : nullptr);
    const Vec y2 = call(f, load(in + i + 2 * kStep), F::kSlope ? s + 2 * kStep : nullptr);
    const Vec y3 = call(f, load(in + i + 3 * kStep), F::kSlope ? s + 3 * kStep : nullptr);
    store(out + i, y0);
    store(out + i + kStep, y1);
    store(out + i + 2 * kStep, y2);
    store(out + i + 3 * kStep, y3);
  }
#pragma GCC unroll 1
  for (; i + kStep <= count; i += kStep) store(out + i, call(f, load(in + i), F::kSlope ? slope + i : nullptr));
}

/// op of one vector, not inlined: one copy of all functions a file. slope: kLanes slopes, read by prelu only.
[[gnu::noinline]] inline Vec apply(const UnaryOp& op, Vec x, const float* slope) {
  with_unary(op, [&](const auto& f) { x = call(f, x, slope); });
  return x;
}

/// Any op by apply(): for loops where an activation costs little next to the rest.
struct AnyUnary {
  const UnaryOp& op;
};
inline Vec call(const AnyUnary& f, Vec x, const float* slope) { return apply(f.op, x, slope); }
inline Vec call_first(const AnyUnary& f, Vec x, const float* slope, std::size_t n) {
  if (f.op.kind != Unary::prelu) return apply(f.op, x, nullptr);
  float slopes[Vec::kLanes];
  store(slopes, load_first(slope, n));
  return apply(f.op, x, slopes);
}

/// As with_unary, with few copies of f: the identity, relu, clip and AnyUnary.
template <class F>
inline void with_fused_unary(const UnaryOp& op, F f) {
  if (op.kind == Unary::identity) return f(Identity(op));
  if (op.kind == Unary::relu) return f(Relu(op));
  if (op.kind == Unary::clip) return f(Clip(op));
  f(AnyUnary{op});
}

}  // namespace
}  // namespace colonnade::kernels
