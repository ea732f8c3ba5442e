// SPDX-License-Identifier: Apache-2.0
// The operations of Vec. Here stand those that are xsimd's on every tier; what it lacks, does otherwise or more slowly
// is in simd_overrides.hpp. Everything lives in an anonymous namespace: each tier's files have their own copy.
#pragma once

#include "kernels/base/simd_overrides.hpp"
#include "kernels/base/vec.hpp"

namespace colonnade::kernels {
namespace {

inline Vec broadcast(float x) { return {Batch(x)}; }
inline Vec zero() { return broadcast(0.0f); }
inline Vec operator+(Vec a, Vec b) { return {Batch(a.v) + Batch(b.v)}; }
inline Vec operator-(Vec a, Vec b) { return {Batch(a.v) - Batch(b.v)}; }
inline Vec operator*(Vec a, Vec b) { return {Batch(a.v) * Batch(b.v)}; }
inline Vec operator/(Vec a, Vec b) { return {Batch(a.v) / Batch(b.v)}; }
inline Vec sqrt(Vec a) { return {xsimd::sqrt(Batch(a.v))}; }
inline Vec abs(Vec a) { return {xsimd::abs(Batch(a.v))}; }
/// To the nearest integer, from halfway to the even one.
inline Vec round(Vec a) { return {xsimd::nearbyint(Batch(a.v))}; }
inline Mask less(Vec a, Vec b) { return Batch(a.v) < Batch(b.v); }
inline Mask is_nan(Vec a) { return xsimd::isnan(Batch(a.v)); }
inline Vec select(Mask m, Vec if_set, Vec if_clear) { return {xsimd::select(m, Batch(if_set.v), Batch(if_clear.v))}; }
/// The lowest eight bits of x as the exponent of a power of two.
inline Vec low_bits_to_exponent(Vec x) { return from_bits(bits_of(x) << 23); }
/// The first n lanes of x, `rest` in the others.
inline Vec keep_first(Vec x, std::size_t n, Vec rest) { return select(first_lanes(n), x, rest); }
inline float sum_lanes(Vec x) {
  return fold_lanes(x, [](auto a, auto b) { return a + b; });
}
inline float max_lanes(Vec x) {
  return fold_lanes(x, [](auto a, auto b) { return larger(a, b); });
}

/// Keeps the compiler from seeing where a value comes from, and so from computing or loading it anew.
template <class T>
[[gnu::always_inline]] inline void hide(T& value) {
  asm("" : "+r"(value));
}
[[gnu::always_inline]] inline void hide(Vec& x) {
#if defined(__AVX512F__)
  asm("" : "+v"(x.v));
#elif defined(__SSE2__)
  asm("" : "+x"(x.v));
#elif defined(__ARM_NEON)
  asm("" : "+w"(x.v));
#else
  static_cast<void>(x);
#endif
}
/// Loads into a register: compilers fold a plain load into each operation that uses it.
inline Vec load_once(const float* p) {
  Vec x = load(p);
  hide(x);
  return x;
}

}  // namespace
}  // namespace colonnade::kernels
