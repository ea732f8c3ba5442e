// SPDX-License-Identifier: Apache-2.0
// A number of each signal is two vectors, real parts and imaginary ones, behind each other.
#pragma once

#include "kernels/base/simd.hpp"
#include "kernels/fourier/fourier.hpp"

namespace colonnade::kernels::fourier {
namespace {

inline constexpr std::size_t kLanes = Vec::kLanes;

struct Complex {
  Vec re, im;
};
inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
inline Complex operator*(Complex a, Complex b) { return {fnma(a.im, b.im, a.re * b.re), fma(a.re, b.im, a.im * b.re)}; }
/// a + i b, a - i b.
inline Complex plus_turned(Complex a, Complex b) { return {a.re - b.im, a.im + b.re}; }
inline Complex minus_turned(Complex a, Complex b) { return {a.re + b.im, a.im - b.re}; }

inline Complex number(const float* x, std::size_t i) {
  return {load(x + 2 * i * kLanes), load(x + (2 * i + 1) * kLanes)};
}
inline void put(float* x, std::size_t i, Complex value) {
  store(x + 2 * i * kLanes, value.re);
  store(x + (2 * i + 1) * kLanes, value.im);
}
inline Complex root(const float* roots, std::size_t k) {
  return {broadcast(roots[2 * k]), broadcast(roots[2 * k + 1])};
}

/// The transform of R numbers in place.
template <std::size_t R>
struct Butterfly {
  static constexpr std::size_t kPairs = (R - 1) / 2;
  float cosines[R], sines[R];

  explicit Butterfly(const Plan& plan) {
    for (std::size_t k = 0; k < R; ++k) {
      const std::size_t at = k * (plan.length / R);
      cosines[k] = plan.roots[2 * at];
      sines[k] = plan.roots[2 * at + 1];
    }
  }

  void operator()(Complex (&a)[R]) const {
    Complex sums[kPairs], differences[kPairs];
    Complex all = a[0];
    for (std::size_t j = 0; j < kPairs; ++j) {
      sums[j] = a[j + 1] + a[R - 1 - j];
      differences[j] = a[j + 1] - a[R - 1 - j];
      all = all + sums[j];
    }
    for (std::size_t k = 1; k <= kPairs; ++k) {
      Complex even = a[0], odd = {zero(), zero()};
      for (std::size_t j = 0; j < kPairs; ++j) {
        const std::size_t at = (j + 1) * k % R;
        const Vec cosine = broadcast(cosines[at]), sine = broadcast(sines[at]);
        even = {fma(sums[j].re, cosine, even.re), fma(sums[j].im, cosine, even.im)};
        odd = {fma(differences[j].re, sine, odd.re), fma(differences[j].im, sine, odd.im)};
      }
      a[k] = plus_turned(even, odd);
      a[R - k] = minus_turned(even, odd);
    }
    a[0] = all;
  }
};
template <>
struct Butterfly<2> {
  explicit Butterfly(const Plan&) {}
  void operator()(Complex (&a)[2]) const {
    const Complex b = a[1];
    a[1] = a[0] - b;
    a[0] = a[0] + b;
  }
};
template <>
struct Butterfly<4> {
  explicit Butterfly(const Plan&) {}
  void operator()(Complex (&a)[4]) const {
    const Complex even = a[0] + a[2], odd = a[1] + a[3], left = a[0] - a[2], right = a[1] - a[3];
    a[0] = even + odd;
    a[1] = minus_turned(left, right);
    a[2] = even - odd;
    a[3] = plus_turned(left, right);
  }
};

/// One radix: each of `stride` interleaved transforms of R * m numbers becomes R of m.
template <std::size_t R>
inline void pass(const Plan& plan, const float* x, float* y, std::size_t m, std::size_t stride) {
  const Butterfly<R> transform(plan);
  for (std::size_t p = 0; p < m; ++p) {
    Complex turns[R];
    for (std::size_t k = 1; k < R; ++k) turns[k] = root(plan.roots, p * k * stride);
    for (std::size_t q = 0; q < stride; ++q) {
      Complex a[R];
      for (std::size_t j = 0; j < R; ++j) a[j] = number(x, q + stride * (p + m * j));
      transform(a);
      put(y, q + stride * R * p, a[0]);
      for (std::size_t k = 1; k < R; ++k) put(y, q + stride * (R * p + k), p == 0 ? a[k] : a[k] * turns[k]);
    }
  }
}

/// Transforms x by way of y; returns which of them has the result.
inline float* run_passes(const Plan& plan, float* x, float* y) {
  std::size_t stride = 1, left = plan.length;
  for (std::size_t i = 0; i < plan.passes; ++i) {
    const unsigned radix = plan.radices[i];
    left /= radix;
    switch (radix) {
      case 2: pass<2>(plan, x, y, left, stride); break;
      case 3: pass<3>(plan, x, y, left, stride); break;
      case 4: pass<4>(plan, x, y, left, stride); break;
      case 5: pass<5>(plan, x, y, left, stride); break;
      case 7: pass<7>(plan, x, y, left, stride); break;
      case 11: pass<11>(plan, x, y, left, stride); break;
      default: pass<kMostRadix>(plan, x, y, left, stride); break;
    }
    stride *= radix;
    float* const made = y;
    y = x;
    x = made;
  }
  return x;
}

/// The signal of a lane; real parts and imaginary ones change places for an inverse, here and in the results.
inline void take_signal(const Args& a, std::size_t lane, float* x) {
  const float* in = a.in[lane];
  float* const re = x + lane + (a.inverse ? kLanes : 0);
  float* const im = x + lane + (a.inverse ? 0 : kLanes);
  for (std::size_t k = 0; k < a.taken; ++k, in += a.in_step) {
    const float factor = a.window == nullptr ? 1.0f : a.window[k];
    re[2 * k * kLanes] = in[0] * factor;
    im[2 * k * kLanes] = a.in_parts == 2 ? in[1] * factor : 0.0f;
  }
  for (std::size_t k = a.taken; k < a.length; ++k) {
    const std::size_t twin = a.length - k;
    const bool mirrors = a.mirrored && k > 0 && twin < a.taken;
    re[2 * k * kLanes] = mirrors ? re[2 * twin * kLanes] : 0.0f;
    im[2 * k * kLanes] = mirrors ? -im[2 * twin * kLanes] : 0.0f;
  }
}

/// Pairs of real numbers as complex ones.
inline void take_pairs(const Args& a, std::size_t lane, float* x) {
  const float* in = a.in[lane];
  for (std::size_t k = 0; k < a.taken; ++k, in += a.in_step)
    x[k * kLanes + lane] = *in * (a.window == nullptr ? 1.0f : a.window[k]);
  for (std::size_t k = a.taken; k < a.length; ++k) x[k * kLanes + lane] = 0;
}

/// The first half of a real signal's spectrum and one number more from the spectrum z of its pairs.
inline void unfold(const Args& a, const float* z, float* spectrum) {
  const std::size_t half = a.length / 2;
  const Vec by_two = broadcast(0.5f);
  for (std::size_t k = 0; k <= half; ++k) {
    const Complex one = number(z, k % half), other = number(z, (half - k) % half);
    const Complex even = {(one.re + other.re) * by_two, (one.im - other.im) * by_two};
    const Complex odd = {(one.im + other.im) * by_two, (other.re - one.re) * by_two};
    const Complex turn = k == half ? Complex{broadcast(-1.0f), zero()} : root(a.twists, k);
    put(spectrum, k, even + odd * turn);
  }
}

inline void give_results(const Args& a, std::size_t lane, const float* x) {
  const std::size_t made = a.halved ? a.length / 2 + 1 : a.length;
  const float* const re = x + lane + (a.inverse ? kLanes : 0);
  const float* const im = x + lane + (a.inverse ? 0 : kLanes);
  float* out = a.out[lane];
  for (std::size_t k = 0; k < a.out_count; ++k, out += a.out_step) {
    const std::size_t from = k < made ? k : a.length - k;
    out[0] = re[2 * from * kLanes] * a.scale;
    if (a.out_parts == 2) out[1] = (k < made ? im[2 * from * kLanes] : -im[2 * from * kLanes]) * a.scale;
  }
}

inline void run_transform(const Args& a) noexcept {
  float *const x = a.work, *const y = a.work + 2 * a.length * kLanes;
  for (std::size_t i = 0; i < 2 * a.plan->length && a.count < kLanes; ++i) store(x + i * kLanes, zero());
  for (std::size_t lane = 0; lane < a.count; ++lane) a.halved ? take_pairs(a, lane, x) : take_signal(a, lane, x);
  float* made = run_passes(*a.plan, x, y);
  if (a.halved) {
    float* const spectrum = made == x ? y : x;
    unfold(a, made, spectrum);
    made = spectrum;
  }
  for (std::size_t lane = 0; lane < a.count; ++lane) give_results(a, lane, made);
}

}  // namespace
}  // namespace colonnade::kernels::fourier
