// SPDX-License-Identifier: Apache-2.0
// Four steps of a register tile as one statement, as kernels/gemm/four_steps.hpp has them for floats: here instructions
// beside those that multiply and add are the bound in any case.
#pragma once

#include "kernels/byte_product/vector.hpp"

namespace colonnade::kernels::byte_product {
namespace {

inline constexpr std::size_t kFourSteps = 4;

#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(__AVXVNNI__)
/// Whether a tile of R pixels and V vectors has them: one panel.
template <std::size_t R, std::size_t V>
inline constexpr bool kHasFourSteps = V == 2 && R >= 3 && R <= 6;

// clang-format off
// A step: the weights of two channels into ymm12 and ymm13, then one pixel after another into ymm14.
#define COLONNADE_PIXEL(step, at, r)             \
  "vpbroadcastd 4*" step at ",%%ymm14\n\t"       \
  "vpmaddwd %%ymm12,%%ymm14,%%ymm15\n\t"         \
  "vpmaddwd %%ymm13,%%ymm14,%%ymm14\n\t"         \
  "vpaddd %%ymm15,%[a" r "],%[a" r "]\n\t"       \
  "vpaddd %%ymm14,%[b" r "],%[b" r "]\n\t"
#define COLONNADE_THREE_PIXELS(step)             \
  "vpmovsxbw 32*" step "(%[w]),%%ymm12\n\t"      \
  "vpmovsxbw 32*" step "+16(%[w]),%%ymm13\n\t"   \
  COLONNADE_PIXEL(step, "(%[x])", "0")           \
  COLONNADE_PIXEL(step, "(%[x],%[s])", "1")      \
  COLONNADE_PIXEL(step, "(%[x],%[s],2)", "2")
#define COLONNADE_FOUR_PIXELS(step) COLONNADE_THREE_PIXELS(step) COLONNADE_PIXEL(step, "(%[x],%[s3])", "3")
#define COLONNADE_FIVE_PIXELS(step) COLONNADE_FOUR_PIXELS(step) COLONNADE_PIXEL(step, "(%[x],%[s],4)", "4")
#define COLONNADE_SIX_PIXELS(step) COLONNADE_FIVE_PIXELS(step) COLONNADE_PIXEL(step, "(%[x],%[s5])", "5")
#define COLONNADE_FOUR_STEPS(pixels) pixels("0") pixels("1") pixels("2") pixels("3")
#define COLONNADE_SUMS(r) [a##r] "+x"(at[r][0].v), [b##r] "+x"(at[r][1].v)
#define COLONNADE_OPERANDS [x] "r"(x), [w] "r"(weights), [s] "r"(stride)
#define COLONNADE_CLOBBERS "memory", "xmm12", "xmm13", "xmm14", "xmm15"
// clang-format on

/// Adds four steps of `weights` times those of pixels that lie `stride` bytes apart.
template <std::size_t R>
[[gnu::always_inline]] inline void four_steps(IntVec (&at)[R][2], const char* x, std::ptrdiff_t stride,
                                              const std::int8_t* weights) {
  if constexpr (R == 3) {
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_THREE_PIXELS)
                 : COLONNADE_SUMS(0), COLONNADE_SUMS(1), COLONNADE_SUMS(2)
                 : COLONNADE_OPERANDS
                 : COLONNADE_CLOBBERS);
  } else if constexpr (R == 4) {
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_FOUR_PIXELS)
                 : COLONNADE_SUMS(0), COLONNADE_SUMS(1), COLONNADE_SUMS(2), COLONNADE_SUMS(3)
                 : COLONNADE_OPERANDS, [s3] "r"(3 * stride)
                 : COLONNADE_CLOBBERS);
  } else if constexpr (R == 5) {
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_FIVE_PIXELS)
                 : COLONNADE_SUMS(0), COLONNADE_SUMS(1), COLONNADE_SUMS(2), COLONNADE_SUMS(3), COLONNADE_SUMS(4)
                 : COLONNADE_OPERANDS, [s3] "r"(3 * stride)
                 : COLONNADE_CLOBBERS);
  } else {
    static_assert(R == 6);
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_SIX_PIXELS)
                 : COLONNADE_SUMS(0), COLONNADE_SUMS(1), COLONNADE_SUMS(2), COLONNADE_SUMS(3), COLONNADE_SUMS(4),
                   COLONNADE_SUMS(5)
                 : COLONNADE_OPERANDS, [s3] "r"(3 * stride), [s5] "r"(5 * stride)
                 : COLONNADE_CLOBBERS);
  }
}

#undef COLONNADE_PIXEL
#undef COLONNADE_THREE_PIXELS
#undef COLONNADE_FOUR_PIXELS
#undef COLONNADE_FIVE_PIXELS
#undef COLONNADE_SIX_PIXELS
#undef COLONNADE_FOUR_STEPS
#undef COLONNADE_SUMS
#undef COLONNADE_OPERANDS
#undef COLONNADE_CLOBBERS
#else
template <std::size_t R, std::size_t V>
inline constexpr bool kHasFourSteps = false;
#endif

}  // namespace
}  // namespace colonnade::kernels::byte_product
