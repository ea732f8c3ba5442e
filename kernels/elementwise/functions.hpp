// SPDX-License-Identifier: Apache-2.0
// The functions of COLONNADE_ROW_FUNCTIONS.
#pragma once

#include "kernels/base/vector_math.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace colonnade::kernels::elementwise {
namespace {

inline constexpr float kHalfPi = 1.57079632679f;

/// f of the lanes whose magnitude is not within `limit`, in double precision; y in the others.
template <class F>
inline Vec beyond(Vec x, float limit, Vec y, F f) {
  float in[Vec::kLanes], out[Vec::kLanes];
  store(in, x);
  bool any = false;
  for (const float lane : in) any |= !(__builtin_fabsf(lane) <= limit);
  if (__builtin_expect(!any, 1)) return y;
  store(out, y);
  for (std::size_t i = 0; i < Vec::kLanes; ++i)
    if (!(__builtin_fabsf(in[i]) <= limit)) out[i] = static_cast<float>(f(static_cast<double>(in[i])));
  return load(out);
}

/// x = quarters * pi / 2 + rest for |x| <= kReducible, |rest| <= pi / 4. The first constants have few bits, so that
/// their products are exact without FMA.
inline constexpr float kReducible = 8192.0f;
struct Quarters {
  Vec rest;
  IntBatch count;
};
inline Quarters quarters_of(Vec x) {
  const Vec magic = broadcast(12582912.0f);
  const Vec shifted = fma(x, broadcast(0.636619772f), magic);
  const Vec n = shifted - magic;
  Vec rest = fnma(n, broadcast(1.5703125f), x);
  rest = fnma(n, broadcast(4.837512969970703e-4f), rest);
  rest = fnma(n, broadcast(7.549533173441887e-8f), rest);
  return {fnma(n, broadcast(2.5579538487363607e-12f), rest), bits_of(shifted)};
}

inline Vec sine_core(Vec r) {
  const Vec s = r * r;
  return fma(r * s, polynomial(s, -1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f), r);
}
inline Vec cosine_core(Vec r) {
  const Vec s = r * r;
  return fma(s * s, polynomial(s, 2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f),
             fma(s, broadcast(-0.5f), broadcast(1.0f)));
}

/// The bit `bit` of the count of quarters.
inline Mask is_set(IntBatch count, int bit) {
  const Vec one = from_bits((count & IntBatch(1 << bit)) << (29 - bit));
  return less(zero(), one);
}
inline Vec flipped(Mask flip, Vec x) { return select(flip, -x, x); }

inline Vec sin(Vec x) {
  const auto [rest, count] = quarters_of(x);
  const Vec y = flipped(is_set(count, 1), select(is_set(count, 0), cosine_core(rest), sine_core(rest)));
  return beyond(x, kReducible, y, [](double lane) { return __builtin_sin(lane); });
}
inline Vec cos(Vec x) {
  const auto [rest, count] = quarters_of(x);
  const Vec y = flipped(is_set(count + IntBatch(1), 1), select(is_set(count, 0), sine_core(rest), cosine_core(rest)));
  return beyond(x, kReducible, y, [](double lane) { return __builtin_cos(lane); });
}
inline Vec tan(Vec x) {
  const auto [rest, count] = quarters_of(x);
  const Vec s = rest * rest;
  const Vec y = fma(rest * s,
                    polynomial(s, 9.38540185543e-3f, 3.11992232697e-3f, 2.44301354525e-2f, 5.34112807005e-2f,
                               1.33387994085e-1f, 3.33331568548e-1f),
                    rest);
  const Mask odd = is_set(count, 0);
  return beyond(x, kReducible, select(odd, broadcast(-1.0f), y) / select(odd, y, broadcast(1.0f)),
                [](double lane) { return __builtin_tan(lane); });
}

/// asin(x) for 0 <= x <= 1/2, s = x * x.
inline Vec asin_core(Vec x, Vec s) {
  return fma(x * s,
             polynomial(s, 4.2163199048e-2f, 2.4181311049e-2f, 4.5470025998e-2f, 7.4953002686e-2f, 1.6666752422e-1f),
             x);
}
/// asin(|x|) where that is at most 1/2, else asin(sqrt((1 - |x|) / 2)).
struct HalfArc {
  Vec value;
  Mask far;
};
inline HalfArc half_arc(Vec x) {
  const Vec magnitude = abs(x);
  const Mask far = less(broadcast(0.5f), magnitude);
  const Vec s = select(far, fma(magnitude, broadcast(-0.5f), broadcast(0.5f)), magnitude * magnitude);
  return {asin_core(select(far, sqrt(s), magnitude), s), far};
}
inline Vec asin(Vec x) {
  const auto [arc, far] = half_arc(x);
  return copy_sign(select(far, fma(arc, broadcast(-2.0f), broadcast(kHalfPi)), arc), x);
}
inline Vec acos(Vec x) {
  const auto [arc, far] = half_arc(x);
  const Mask negative = less(x, zero());
  const Vec near = broadcast(kHalfPi) - flipped(negative, arc);
  const Vec outer = select(negative, fma(arc, broadcast(-2.0f), broadcast(2 * kHalfPi)), arc * broadcast(2.0f));
  return select(far, outer, near);
}
inline Vec atan(Vec x) {
  const Vec a = abs(x), one = broadcast(1.0f);
  const Mask middle = less(broadcast(0.414213562f), a), far = less(broadcast(2.41421356f), a);
  const Vec above = select(far, -one, select(middle, a - one, a));
  const Vec below = select(far, a, select(middle, a + one, one));
  const Vec r = above / below, s = r * r;
  const Vec base = select(far, broadcast(kHalfPi), select(middle, broadcast(kHalfPi / 2), zero()));
  const Vec tail = polynomial(s, 8.05374449538e-2f, -1.38776856032e-1f, 1.99777106478e-1f, -3.33329491539e-1f);
  return copy_sign(base + fma(r * s, tail, r), x);
}

/// exp(a) / 2 for a >= 0, which does not overflow before the hyperbolic functions do.
inline Vec half_exp(Vec a) {
  const Vec root = exp(a * broadcast(0.5f));
  return root * broadcast(0.5f) * root;
}
inline Vec sinh(Vec x) {
  const Vec a = abs(x), s = a * a;
  const Vec near = fma(a * s, polynomial(s, 2.03721912945e-4f, 8.33028376239e-3f, 1.66667160211e-1f), a);
  const Vec half = half_exp(a);
  return copy_sign(select(less(a, broadcast(1.0f)), near, half - broadcast(0.25f) / half), x);
}
inline Vec cosh(Vec x) {
  const Vec half = half_exp(abs(x));
  return half + broadcast(0.25f) / half;
}

/// log(1 + u): the logarithm of the rounded sum, and what was rounded away.
inline Vec log1p(Vec u) {
  const Vec one = broadcast(1.0f);
  Vec sum = one + u;
  hide(sum);
  return log(sum) + select(less(u, broadcast(1e10f)), (u - (sum - one)) / sum, zero());
}
inline constexpr float kSquareFits = 1e9f, kLogTwo = 0.693147181f;
inline Vec asinh(Vec x) {
  const Vec a = abs(x), s = a * a, one = broadcast(1.0f);
  const Vec near = log1p(a + s / (one + sqrt(one + s)));
  return copy_sign(select(less(a, broadcast(kSquareFits)), near, log(a) + broadcast(kLogTwo)), x);
}
inline Vec acosh(Vec x) {
  const Vec t = x - broadcast(1.0f);
  const Vec near = log1p(t + sqrt(t * (t + broadcast(2.0f))));
  const Vec y = select(less(x, broadcast(kSquareFits)), near, log(x) + broadcast(kLogTwo));
  return select(less(x, broadcast(1.0f)), broadcast(__builtin_nanf("")), y);
}
inline Vec atanh(Vec x) {
  const Vec a = abs(x);
  return copy_sign(broadcast(0.5f) * log1p(broadcast(2.0f) * a / (broadcast(1.0f) - a)), x);
}

struct Celu : WithParameters {
  using WithParameters::WithParameters;
  Vec operator()(Vec x) const {
    return select(less(x, zero()), a * expm1(min(broadcast(88.0f), min(zero(), x) / a)), x);
  }
};
struct ThresholdedRelu : WithParameters {
  using WithParameters::WithParameters;
  Vec operator()(Vec x) const { return select(less(a, x), x, zero()); }
};
struct Sign : Plain {
  using Plain::Plain;
  Vec operator()(Vec x) const {
    const Vec one = broadcast(1.0f);
    return select(less(zero(), x), one, select(less(x, zero()), -one, x));
  }
};

// The functors of functions without parameters.
#define COLONNADE_FUNCTOR(Functor, function)            \
  struct Functor : Plain {                              \
    using Plain::Plain;                                 \
    Vec operator()(Vec x) const { return function(x); } \
  };
COLONNADE_FUNCTOR(Sin, sin)
COLONNADE_FUNCTOR(Cos, cos)
COLONNADE_FUNCTOR(Tan, tan)
COLONNADE_FUNCTOR(Asin, asin)
COLONNADE_FUNCTOR(Acos, acos)
COLONNADE_FUNCTOR(Atan, atan)
COLONNADE_FUNCTOR(Sinh, sinh)
COLONNADE_FUNCTOR(Cosh, cosh)
COLONNADE_FUNCTOR(Asinh, asinh)
COLONNADE_FUNCTOR(Acosh, acosh)
COLONNADE_FUNCTOR(Atanh, atanh)
#undef COLONNADE_FUNCTOR

/// Calls f with the functor of a function.
template <class F>
inline void with_function(Function function, const UnaryOp& parameters, F f) {
  switch (function) {
#define COLONNADE_CASE(name, Functor) \
  case Function::name: return f(Functor(parameters));
    COLONNADE_ROW_FUNCTIONS(COLONNADE_CASE)
#undef COLONNADE_CASE
  }
}

}  // namespace
}  // namespace colonnade::kernels::elementwise
