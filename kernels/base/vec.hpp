// SPDX-License-Identifier: Apache-2.0
// Vec, a vector of floats as wide as the tier this file is compiled for: xsimd's batch of the best architecture that
// the compiler may use, 16 floats (AVX-512), 8 (AVX2) or 4 (SSE2, NEON, and what simd_portable.hpp stands in for).
// xsimd's functions have external linkage. Its namespace has a name of each tier's own, so that no function compiled
// for one tier can be linked into another.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(COLONNADE_THIS_TIER)
#define COLONNADE_XSIMD_NAMED(tier) xsimd_##tier
#define COLONNADE_XSIMD_OF(tier) COLONNADE_XSIMD_NAMED(tier)
#define xsimd COLONNADE_XSIMD_OF(COLONNADE_THIS_TIER)
#endif

#if (defined(__SSE2__) || defined(__ARM_NEON)) && !defined(COLONNADE_PORTABLE_VECTORS)
#include <xsimd/xsimd.hpp>
#else
#include "kernels/base/simd_portable.hpp"
#endif

namespace colonnade::kernels {
namespace {

using Batch = xsimd::batch<float, xsimd::default_arch>;
using IntBatch = xsimd::batch<std::int32_t, xsimd::default_arch>;

/// One truth value a lane.
using Mask = xsimd::batch_bool<float, xsimd::default_arch>;

struct Vec {
  static constexpr std::size_t kLanes = Batch::size;
  Batch::register_type v;
};

/// The bits of the lanes as integers, and back.
inline IntBatch bits_of(Vec x) { return __builtin_bit_cast(IntBatch, x.v); }
inline Vec from_bits(IntBatch x) { return {__builtin_bit_cast(Batch, x)}; }

}  // namespace
}  // namespace colonnade::kernels
