// SPDX-License-Identifier: Apache-2.0
// Loops over rows: plain ones, for the compiler to vectorise where elements lie side by side or repeat.
#pragma once

#include <cstring>
#include <limits>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/base/copy.hpp"
#include "kernels/typed/doubles.hpp"
#include "kernels/typed/elements.hpp"

namespace colonnade::kernels::typed {
namespace {

/// An element of 16 bytes, for what only moves.
struct Sixteen {
  std::uint64_t halves[2];
};

template <class Op, class In, class Out>
inline void unary_row(const RowArgs& args) noexcept {
  const In* __restrict in = static_cast<const In*>(args.in[0]);
  Out* __restrict out = static_cast<Out*>(args.out);
  const std::size_t count = args.count;
  const std::ptrdiff_t step = args.step[0];
  if (step == 1) {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Out>(Op::of(plain(in[i])));
    return;
  }
  for (std::size_t i = 0; i < count; ++i, in += step) out[i] = static_cast<Out>(Op::of(plain(*in)));
}

/// Real numbers to integers of 32 and 64 bits by way of signed ones of 32, a block at a time, where all of it fits:
/// saturating costs more than the block's test, and without an instruction for long integers they are made one by one.
template <class From, class To>
inline void fitting_cast_row(const RowArgs& args) noexcept {
  if (args.step[0] != 1) return unary_row<CastTo<To>, From, To>(args);
  constexpr std::size_t kBlock = 256;
  constexpr From kBelow = std::is_signed_v<To> ? From{-2147483648.0} : From{0}, kAbove = From{2147483648.0};
  const From* __restrict in = static_cast<const From*>(args.in[0]);
  To* __restrict out = static_cast<To*>(args.out);
  for (std::size_t begin = 0; begin < args.count; begin += kBlock, in += kBlock, out += kBlock) {
    const std::size_t count = args.count - begin < kBlock ? args.count - begin : kBlock;
    std::int32_t beyond = 0;
    for (std::size_t i = 0; i < count; ++i) beyond |= in[i] >= kBelow && in[i] < kAbove ? 0 : 1;
    if (beyond == 0)
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<To>(static_cast<std::int32_t>(in[i]));
    else
      for (std::size_t i = 0; i < count; ++i) out[i] = CastTo<To>::of(in[i]);
  }
}

#if defined(__AVX2__) && !defined(__AVX512F__)  // which narrows vectors in one instruction
/// Eight floats as integers of 32 bits, truncated, that stay inside those of 16 bits when they are packed: NaN gives 0.
template <class To>
inline __m256i within_short(const float* in) {
  const __m256 x = _mm256_loadu_ps(in), most = _mm256_set1_ps(std::numeric_limits<To>::max());
  if constexpr (std::is_signed_v<To>) {
    const __m256 number = _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
    return _mm256_cvttps_epi32(_mm256_min_ps(number, most));
  } else {
    return _mm256_cvttps_epi32(_mm256_min_ps(_mm256_max_ps(x, _mm256_setzero_ps()), most));
  }
}
/// Floats to integers of 16 bits: packing saturates what lies below them.
template <class To>
inline void short_cast_row(const RowArgs& args) noexcept {
  if (args.step[0] != 1) return unary_row<CastTo<To>, float, To>(args);
  const float* in = static_cast<const float*>(args.in[0]);
  To* out = static_cast<To*>(args.out);
  std::size_t i = 0;
  for (; i + 16 <= args.count; i += 16) {
    const __m256i low = within_short<To>(in + i), high = within_short<To>(in + i + 8);
    const __m256i packed = std::is_signed_v<To> ? _mm256_packs_epi32(low, high) : _mm256_packus_epi32(low, high);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_permute4x64_epi64(packed, 0xd8));
  }
  for (; i < args.count; ++i) out[i] = CastTo<To>::of(in[i]);
}
inline constexpr bool kPacks = true;
#else
inline constexpr bool kPacks = false;
template <class To>
inline void short_cast_row(const RowArgs& args) noexcept {
  unary_row<CastTo<To>, float, To>(args);
}
#endif

/// Integers of 64 bits to real numbers, as real numbers to long integers above.
template <class From, class To>
inline void fitting_real_row(const RowArgs& args) noexcept {
  if (args.step[0] != 1) return unary_row<CastTo<To>, From, To>(args);
  constexpr std::size_t kBlock = 256;
  constexpr std::uint64_t kLowest = std::is_signed_v<From> ? std::uint64_t{1} << 31 : 0;
  constexpr int kBits = std::is_signed_v<From> ? 32 : 31;
  const From* __restrict in = static_cast<const From*>(args.in[0]);
  To* __restrict out = static_cast<To*>(args.out);
  for (std::size_t begin = 0; begin < args.count; begin += kBlock, in += kBlock, out += kBlock) {
    const std::size_t count = args.count - begin < kBlock ? args.count - begin : kBlock;
    std::uint64_t beyond = 0;
    for (std::size_t i = 0; i < count; ++i) beyond |= (static_cast<std::uint64_t>(in[i]) + kLowest) >> kBits;
    if (beyond == 0)
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<To>(static_cast<std::int32_t>(in[i]));
    else
      for (std::size_t i = 0; i < count; ++i) out[i] = CastTo<To>::of(in[i]);
  }
}

/// A function that has another way for numbers beyond kReducible, taken where there are any.
template <class Op>
inline void periodic_row(const RowArgs& args) noexcept {
  unary_row<Op, double, double>(args);
  const double* __restrict in = static_cast<const double*>(args.in[0]);
  double* __restrict out = static_cast<double*>(args.out);
  for (std::size_t i = 0; i < args.count; ++i, in += args.step[0])
    if (!(__builtin_fabs(*in) <= kReducible)) out[i] = Op::far(*in);
}

template <class Op, class In, class Out>
inline void binary_row(const RowArgs& args) noexcept {
  const In* __restrict a = static_cast<const In*>(args.in[0]);
  const In* __restrict b = static_cast<const In*>(args.in[1]);
  Out* __restrict out = static_cast<Out*>(args.out);
  const std::size_t count = args.count;
  const std::ptrdiff_t left = args.step[0], right = args.step[1];
  if (left == 1 && right == 1) {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Out>(Op::of(plain(a[i]), plain(b[i])));
  } else if (left == 1 && right == 0 && count > 0) {
    const auto same = plain(*b);
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Out>(Op::of(plain(a[i]), same));
  } else if (left == 0 && right == 1 && count > 0) {
    const auto same = plain(*a);
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Out>(Op::of(same, plain(b[i])));
  } else {
    for (std::size_t i = 0; i < count; ++i, a += left, b += right)
      out[i] = static_cast<Out>(Op::of(plain(*a), plain(*b)));
  }
}

/// Divides by one where the divisor is zero.
template <class Op>
struct OrByOne {
  template <class T>
  static T of(T a, T b) {
    return Op::of(a, b == 0 ? T{1} : b);
  }
};

/// Divides by 2^places.
inline void shift_row(const RowArgs& args, int places) {
  const auto* __restrict in = static_cast<const std::uint64_t*>(args.in[0]);
  auto* __restrict out = static_cast<std::uint64_t*>(args.out);
  for (std::size_t i = 0; i < args.count; ++i) out[i] = in[i] >> places;
}

/// Of integers: says where a divisor is zero.
template <class Op, class T>
inline void division_row(const RowArgs& args) noexcept {
  const T* __restrict b = static_cast<const T*>(args.in[1]);
  const std::ptrdiff_t step = args.step[1];
  T zeros = 0;
  if (step == 1) {
    for (std::size_t i = 0; i < args.count; ++i) zeros = static_cast<T>(zeros | (b[i] == 0 ? T{1} : T{0}));
  } else {
    for (std::size_t i = 0; i < (step == 0 && args.count > 0 ? 1 : args.count); ++i, b += step)
      zeros = static_cast<T>(zeros | (*b == 0 ? T{1} : T{0}));
  }
  if constexpr (std::is_same_v<Op, Quotient> && std::is_same_v<T, std::uint64_t>) {
    const bool shared = args.step[0] == 1 && step == 0 && args.count > 0;
    const T divisor = shared ? *static_cast<const T*>(args.in[1]) : 0;
    if (divisor != 0 && (divisor & (divisor - 1)) == 0) return shift_row(args, __builtin_ctzll(divisor));
  }
  if (zeros == 0) return binary_row<Op, T, T>(args);
  if (args.undefined != nullptr) *args.undefined = true;
  binary_row<OrByOne<Op>, T, T>(args);
}

/// 2 to powers: 0 beyond all bits.
template <class T>
inline void powers_of_two(const RowArgs& args) noexcept {
  constexpr T kBits = 8 * sizeof(T);
  const T* __restrict in = static_cast<const T*>(args.in[1]);
  T* __restrict out = static_cast<T*>(args.out);
  for (std::size_t i = 0; i < args.count; ++i)
    out[i] = static_cast<T>(in[i] < kBits ? std::uint64_t{1} << in[i] : std::uint64_t{0});
}

/// Integers to a power; a power that all share is built up for many elements at a time.
template <class T>
inline void pow_row(const RowArgs& args) noexcept {
  const bool same_base = args.step[0] == 0 && args.step[1] == 1 && args.count > 0;
  if constexpr (std::is_unsigned_v<T>) {
    if (same_base && *static_cast<const T*>(args.in[0]) == 2) return powers_of_two<T>(args);
  }
  const bool shared = args.step[0] == 1 && args.step[1] == 0 && args.count > 0;
  if (!shared || *static_cast<const T*>(args.in[1]) < 0) return binary_row<Pow, T, T>(args);
  const T power = *static_cast<const T*>(args.in[1]);
  if (power == 2) {
    RowArgs square = args;
    square.in[1] = args.in[0];
    square.step[1] = args.step[0];
    return binary_row<Mul, T, T>(square);
  }
  constexpr std::size_t kBlock = 256;
  const T* __restrict in = static_cast<const T*>(args.in[0]);
  T* __restrict out = static_cast<T*>(args.out);
  T results[kBlock], factors[kBlock];
  for (std::size_t begin = 0; begin < args.count; begin += kBlock) {
    const std::size_t count = args.count - begin < kBlock ? args.count - begin : kBlock;
    for (std::size_t i = 0; i < count; ++i) factors[i] = in[begin + i];
    for (std::size_t i = 0; i < count; ++i) results[i] = T{1};
    for (auto rest = static_cast<std::make_unsigned_t<T>>(power); rest != 0;
         rest = static_cast<decltype(rest)>(rest >> 1)) {
      if ((rest & 1) != 0)
        for (std::size_t i = 0; i < count; ++i) results[i] = Mul::of(results[i], factors[i]);
      for (std::size_t i = 0; i < count; ++i) factors[i] = Mul::of(factors[i], factors[i]);
    }
    for (std::size_t i = 0; i < count; ++i) out[begin + i] = results[i];
  }
}

template <std::ptrdiff_t step, std::ptrdiff_t out_step, class T>
inline void copy_steps(const T* __restrict in, T* __restrict out, std::size_t count) {
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(count); ++i) out[i * out_step] = in[i * step];
}

template <class T>
inline void copy_row(const RowArgs& args) noexcept {
  const T* __restrict in = static_cast<const T*>(args.in[0]);
  T* __restrict out = static_cast<T*>(args.out);
  const std::size_t count = args.count;
  const std::ptrdiff_t step = args.step[0], out_step = args.out_step;
  if (out_step == 1) {
    if (step == 0) return copy_steps<0, 1>(in, out, count);
    if (step == 2) return copy_steps<2, 1>(in, out, count);
    if (step == 4) return copy_steps<4, 1>(in, out, count);
    if (step == 1) {
      copy_memory(out, in, count * sizeof(T));
      return;
    }
  }
  if (step == 1 && out_step == 2) return copy_steps<1, 2>(in, out, count);
  if (step == 1 && out_step == 4) return copy_steps<1, 4>(in, out, count);
  for (std::size_t i = 0; i < count; ++i, in += step, out += out_step) *out = *in;
}

/// Conditions side by side; the steps of the others are constants.
template <std::ptrdiff_t yes_step, std::ptrdiff_t no_step, class T>
inline void select_dense(const std::uint8_t* __restrict condition, const T* __restrict yes, const T* __restrict no,
                         T* __restrict out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    const T a = yes[at * yes_step], b = no[at * no_step];
    out[i] = condition[i] != 0 ? a : b;
  }
}

template <class T>
inline void select_row(const RowArgs& args) noexcept {
  const auto* condition = static_cast<const std::uint8_t*>(args.in[0]);
  const auto* yes = static_cast<const T*>(args.in[1]);
  const auto* no = static_cast<const T*>(args.in[2]);
  auto* out = static_cast<T*>(args.out);
  const std::ptrdiff_t yes_step = args.step[1], no_step = args.step[2];
  if (args.count == 0) return;
  if (args.step[0] == 0) {
    const std::size_t chosen = *condition != 0 ? 1 : 2;
    return copy_row<T>({{args.in[chosen]}, {args.step[chosen]}, args.out, args.count});
  }
  if (args.step[0] == 1 && (yes_step | no_step | 1) == 1) {
    if (yes_step == 1 && no_step == 1) return select_dense<1, 1>(condition, yes, no, out, args.count);
    if (yes_step == 1) return select_dense<1, 0>(condition, yes, no, out, args.count);
    if (no_step == 1) return select_dense<0, 1>(condition, yes, no, out, args.count);
    return select_dense<0, 0>(condition, yes, no, out, args.count);
  }
  for (std::size_t i = 0; i < args.count; ++i, condition += args.step[0], yes += yes_step, no += no_step)
    out[i] = *condition != 0 ? *yes : *no;
}

}  // namespace
}  // namespace colonnade::kernels::typed
