// SPDX-License-Identifier: Apache-2.0
// In-register layout changes: a square of kLanes planes by kLanes pixels, and 2 to 4 planes woven into pixels.
#pragma once

#include "kernels/base/simd.hpp"

namespace colonnade::kernels::move {
namespace {

inline constexpr int kLanes = static_cast<int>(Vec::kLanes);

#if defined(__AVX512F__)

// GCC's own headers initialise unused operands with themselves.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

inline Vec low_pairs(Vec a, Vec b) { return {_mm512_unpacklo_ps(a.v, b.v)}; }
inline Vec high_pairs(Vec a, Vec b) { return {_mm512_unpackhi_ps(a.v, b.v)}; }
inline Vec low_halves(Vec a, Vec b) { return {_mm512_shuffle_ps(a.v, b.v, 0x44)}; }
inline Vec high_halves(Vec a, Vec b) { return {_mm512_shuffle_ps(a.v, b.v, 0xee)}; }

/// Rows r[4 i + j] hold, in each 128-bit lane l, column 4 l + j of rows 4 i .. 4 i + 3: gathers the lanes.
inline void gather_lanes(Vec* r) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 a = _mm512_shuffle_f32x4(r[j].v, r[4 + j].v, 0x88);
    const __m512 b = _mm512_shuffle_f32x4(r[j].v, r[4 + j].v, 0xdd);
    const __m512 c = _mm512_shuffle_f32x4(r[8 + j].v, r[12 + j].v, 0x88);
    const __m512 d = _mm512_shuffle_f32x4(r[8 + j].v, r[12 + j].v, 0xdd);
    r[j].v = _mm512_shuffle_f32x4(a, c, 0x88);
    r[8 + j].v = _mm512_shuffle_f32x4(a, c, 0xdd);
    r[4 + j].v = _mm512_shuffle_f32x4(b, d, 0x88);
    r[12 + j].v = _mm512_shuffle_f32x4(b, d, 0xdd);
  }
}

using Index = IntBatch;
inline Index load_index(const int* p) { return Index::load_unaligned(p); }
inline Vec permute(Vec x, Index lanes) { return {_mm512_permutexvar_ps(lanes, x.v)}; }
template <unsigned Bits>
inline Vec blend(Vec if_clear, Vec if_set) {
  return {_mm512_mask_blend_ps(static_cast<__mmask16>(Bits), if_clear.v, if_set.v)};
}

#pragma GCC diagnostic pop

#elif defined(__AVX2__)

inline Vec low_pairs(Vec a, Vec b) { return {_mm256_unpacklo_ps(a.v, b.v)}; }
inline Vec high_pairs(Vec a, Vec b) { return {_mm256_unpackhi_ps(a.v, b.v)}; }
inline Vec low_halves(Vec a, Vec b) { return {_mm256_shuffle_ps(a.v, b.v, 0x44)}; }
inline Vec high_halves(Vec a, Vec b) { return {_mm256_shuffle_ps(a.v, b.v, 0xee)}; }

inline void gather_lanes(Vec* r) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m256 a = _mm256_permute2f128_ps(r[j].v, r[4 + j].v, 0x20);
    const __m256 b = _mm256_permute2f128_ps(r[j].v, r[4 + j].v, 0x31);
    r[j].v = a;
    r[4 + j].v = b;
  }
}

using Index = IntBatch;
inline Index load_index(const int* p) { return Index::load_unaligned(p); }
inline Vec permute(Vec x, Index lanes) { return {_mm256_permutevar8x32_ps(x.v, lanes)}; }
template <unsigned Bits>
inline Vec blend(Vec if_clear, Vec if_set) {
  return {_mm256_blend_ps(if_clear.v, if_set.v, static_cast<int>(Bits))};
}

#else

using Four = Batch::register_type;
/// Lanes of a and, from 4 on, of b.
template <int I, int J, int K, int L>
inline Vec picked(Vec a, Vec b) {
  const Four lanes[2] = {a.v, b.v};
  return {Four{lanes[I / 4][I % 4], lanes[J / 4][J % 4], lanes[K / 4][K % 4], lanes[L / 4][L % 4]}};
}
inline Vec low_pairs(Vec a, Vec b) { return picked<0, 4, 1, 5>(a, b); }
inline Vec high_pairs(Vec a, Vec b) { return picked<2, 6, 3, 7>(a, b); }
inline Vec low_halves(Vec a, Vec b) { return picked<0, 1, 4, 5>(a, b); }
inline Vec high_halves(Vec a, Vec b) { return picked<2, 3, 6, 7>(a, b); }
inline void gather_lanes(Vec*) {}

using Index = const int*;
inline Index load_index(const int* p) { return p; }
inline Vec permute(Vec x, Index lanes) {
  const Four from = x.v;
  return {Four{from[lanes[0]], from[lanes[1]], from[lanes[2]], from[lanes[3]]}};
}
template <unsigned Bits>
inline Vec blend(Vec if_clear, Vec if_set) {
  return picked < Bits & 1 ? 4 : 0, Bits & 2 ? 5 : 1, Bits & 4 ? 6 : 2, Bits & 8 ? 7 : 3 > (if_clear, if_set);
}

#endif

/// Transposes kLanes rows of kLanes floats.
inline __attribute__((always_inline)) void transpose(Vec* r) {
#pragma GCC unroll 4
  for (int i = 0; i < kLanes; i += 4) {
    const Vec a = low_pairs(r[i], r[i + 1]);
    const Vec b = high_pairs(r[i], r[i + 1]);
    const Vec c = low_pairs(r[i + 2], r[i + 3]);
    const Vec d = high_pairs(r[i + 2], r[i + 3]);
    r[i] = low_halves(a, c);
    r[i + 1] = high_halves(a, c);
    r[i + 2] = low_halves(b, d);
    r[i + 3] = high_halves(b, d);
  }
  gather_lanes(r);
}

/// Where each lane of a vector comes from when N planes are woven into pixels (or pixels taken apart).
template <int N>
struct Weave {
  int lanes[N][N][kLanes] = {};  ///< [result][source]: source lane for each result lane
};

template <int N>
constexpr Weave<N> weaving() {
  Weave<N> w;
  for (int result = 0; result < N; ++result) {
    for (int i = 0; i < kLanes; ++i) w.lanes[result][(result * kLanes + i) % N][i] = (result * kLanes + i) / N;
  }
  return w;
}
template <int N>
constexpr Weave<N> unweaving() {
  Weave<N> w;
  for (int result = 0; result < N; ++result) {
    for (int i = 0; i < kLanes; ++i) w.lanes[result][(i * N + result) / kLanes][i] = (i * N + result) % kLanes;
  }
  return w;
}

/// Lanes of `result` that come from `source`.
template <int N>
constexpr unsigned woven_bits(int result, int source) {
  unsigned bits = 0;
  for (int i = 0; i < kLanes; ++i) bits |= (result * kLanes + i) % N == source ? 1u << i : 0u;
  return bits;
}
template <int N>
constexpr unsigned unwoven_bits(int result, int source) {
  unsigned bits = 0;
  for (int i = 0; i < kLanes; ++i) bits |= (i * N + result) / kLanes == source ? 1u << i : 0u;
  return bits;
}

template <int N>
inline constexpr Weave<N> kWeave = weaving<N>();
template <int N>
inline constexpr Weave<N> kUnweave = unweaving<N>();

template <int N, bool Apart, int Result, int Source>
inline Vec woven(const Vec* in, Vec sum) {
  const int* lanes = Apart ? kUnweave<N>.lanes[Result][Source] : kWeave<N>.lanes[Result][Source];
  const Vec moved = permute(in[Source], load_index(lanes));
  constexpr unsigned kBits = Apart ? unwoven_bits<N>(Result, Source) : woven_bits<N>(Result, Source);
  const Vec next = Source == 0 ? moved : blend<kBits>(sum, moved);
  if constexpr (Source + 1 < N)
    return woven<N, Apart, Result, Source + 1>(in, next);
  else
    return next;
}

/// N vectors of one plane each to N vectors of kLanes pixels (Apart: the reverse).
template <int N, bool Apart, int Result = 0>
inline void weave(const Vec* in, Vec* out) {
  out[Result] = woven<N, Apart, Result, 0>(in, in[0]);
  if constexpr (Result + 1 < N) weave<N, Apart, Result + 1>(in, out);
}

}  // namespace
}  // namespace colonnade::kernels::move
