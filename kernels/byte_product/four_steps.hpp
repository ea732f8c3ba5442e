// SPDX-License-Identifier: Apache-2.0
// Four steps of a tile of bytes as one statement, where no instruction adds products of bytes to a sum: instructions
// beside those that multiply and add are the bound in any case.
#pragma once

#if defined(COLONNADE_SPLITS)
#define COLONNADE_CONSTANTS , [ones] "m"(kOnes)
#else
#define COLONNADE_CONSTANTS
#endif
#include "kernels/base/four_steps.hpp"
#include "kernels/byte_product/vector.hpp"

namespace colonnade::kernels::byte_product {
namespace {

#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(__AVXVNNI__)
/// Whether a tile of R pixels and V vectors has them.
template <std::size_t R, std::size_t V>
inline constexpr bool kHasFourSteps = V == 2 && R >= 3 && R <= 6;

// clang-format off
// COLONNADE_WIDE_WEIGHTS: weights have 16 bits in memory.
#if defined(COLONNADE_SPLITS) || defined(COLONNADE_WIDE_WEIGHTS)
#define COLONNADE_WEIGHTS(step)                  \
  "vmovdqu 64*" step "(%[w]),%%ymm12\n\t"        \
  "vmovdqu 64*" step "+32(%[w]),%%ymm13\n\t"
#else
#define COLONNADE_WEIGHTS(step)                  \
  "vpmovsxbw 32*" step "(%[w]),%%ymm12\n\t"      \
  "vpmovsxbw 32*" step "+16(%[w]),%%ymm13\n\t"
#endif
#if defined(COLONNADE_SPLITS)
alignas(32) inline constexpr std::int16_t kOnes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
#define COLONNADE_PIXEL(step, at, r)             \
  "vpbroadcastd 4*" step at ",%%ymm14\n\t"       \
  "vpmaddubsw %%ymm12,%%ymm14,%%ymm15\n\t"       \
  "vpmaddubsw %%ymm13,%%ymm14,%%ymm14\n\t"       \
  "vpmaddwd %[ones],%%ymm15,%%ymm15\n\t"         \
  "vpmaddwd %[ones],%%ymm14,%%ymm14\n\t"         \
  "vpaddd %%ymm15,%[a" r "],%[a" r "]\n\t"       \
  "vpaddd %%ymm14,%[b" r "],%[b" r "]\n\t"
#else
#define COLONNADE_PIXEL(step, at, r)             \
  "vpbroadcastd 4*" step at ",%%ymm14\n\t"       \
  "vpmaddwd %%ymm12,%%ymm14,%%ymm15\n\t"         \
  "vpmaddwd %%ymm13,%%ymm14,%%ymm14\n\t"         \
  "vpaddd %%ymm15,%[a" r "],%[a" r "]\n\t"       \
  "vpaddd %%ymm14,%[b" r "],%[b" r "]\n\t"
#endif
// clang-format on

/// Adds four steps of `weights` times those of pixels that lie `stride` bytes apart.
template <std::size_t R>
[[gnu::always_inline]] inline void four_steps(IntVec (&at)[R][2], const char* x, std::ptrdiff_t stride,
                                              const void* weights) {
  COLONNADE_FOUR_STEPS_OF(R, at, x, weights, stride);
}

#undef COLONNADE_WEIGHTS
#undef COLONNADE_PIXEL
#else
template <std::size_t R, std::size_t V>
inline constexpr bool kHasFourSteps = false;
#endif

}  // namespace
}  // namespace colonnade::kernels::byte_product
