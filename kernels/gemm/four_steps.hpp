// SPDX-License-Identifier: Apache-2.0
// Four steps of a register tile as one statement, for processors with sixteen registers of eight lanes. Sums, weights
// and pixels fill them, so that GCC 12 else copies some with each step; and a loop of single steps has as many
// instructions beside its multiplications as it has multiplications. That matters where the core's other thread works
// too: each then starts half as many instructions a cycle.
#pragma once

#include "kernels/base/simd.hpp"

namespace colonnade::kernels {
namespace {

inline constexpr std::size_t kFourSteps = 4;

#if defined(__AVX2__) && !defined(__AVX512F__)
/// Whether a tile of R pixels and V vectors has them: a panel or two.
template <std::size_t R, std::size_t V>
inline constexpr bool kHasFourSteps = (V == 2 && R >= 3 && R <= 6) || (V == 4 && (R == 2 || R == 3));

// clang-format off
// A step of a panel: its weights into ymm13 and ymm14, then one pixel after another into ymm15.
#define COLONNADE_PIXEL(step, at, r)             \
  "vbroadcastss 4*" step at ",%%ymm15\n\t"       \
  "vfmadd231ps %%ymm13,%%ymm15,%[a" r "]\n\t"    \
  "vfmadd231ps %%ymm14,%%ymm15,%[b" r "]\n\t"
#define COLONNADE_THREE_PIXELS(step)             \
  "vmovups 64*" step "(%[w]),%%ymm13\n\t"        \
  "vmovups 64*" step "+32(%[w]),%%ymm14\n\t"     \
  COLONNADE_PIXEL(step, "(%[x])", "0")           \
  COLONNADE_PIXEL(step, "(%[x],%[s])", "1")      \
  COLONNADE_PIXEL(step, "(%[x],%[s],2)", "2")
#define COLONNADE_FOUR_PIXELS(step) COLONNADE_THREE_PIXELS(step) COLONNADE_PIXEL(step, "(%[x],%[s3])", "3")
#define COLONNADE_FIVE_PIXELS(step) COLONNADE_FOUR_PIXELS(step) COLONNADE_PIXEL(step, "(%[x],%[s],4)", "4")
#define COLONNADE_SIX_PIXELS(step) COLONNADE_FIVE_PIXELS(step) COLONNADE_PIXEL(step, "(%[x],%[s5])", "5")
// Of two panels: the pixels into ymm13 to ymm15, then one vector of weights after another into ymm12.
#define COLONNADE_WIDE_TWO(step, from, v)        \
  "vmovups 64*" step from ",%%ymm12\n\t"         \
  "vfmadd231ps %%ymm12,%%ymm13,%[" v "0]\n\t"    \
  "vfmadd231ps %%ymm12,%%ymm14,%[" v "1]\n\t"
#define COLONNADE_WIDE_THREE(step, from, v)      \
  COLONNADE_WIDE_TWO(step, from, v)              \
  "vfmadd231ps %%ymm12,%%ymm15,%[" v "2]\n\t"
#define COLONNADE_TWO_PANELS(step, pixels)       \
  pixels(step, "(%[w])", "a") pixels(step, "+32(%[w])", "b") \
  pixels(step, "(%[w],%[panel])", "c") pixels(step, "+32(%[w],%[panel])", "d")
#define COLONNADE_TWO_WIDE_PIXELS(step)          \
  "vbroadcastss 4*" step "(%[x]),%%ymm13\n\t"    \
  "vbroadcastss 4*" step "(%[x],%[s]),%%ymm14\n\t" COLONNADE_TWO_PANELS(step, COLONNADE_WIDE_TWO)
#define COLONNADE_THREE_WIDE_PIXELS(step)        \
  "vbroadcastss 4*" step "(%[x]),%%ymm13\n\t"    \
  "vbroadcastss 4*" step "(%[x],%[s]),%%ymm14\n\t" \
  "vbroadcastss 4*" step "(%[x],%[s],2),%%ymm15\n\t" COLONNADE_TWO_PANELS(step, COLONNADE_WIDE_THREE)

#define COLONNADE_FOUR_STEPS(pixels) pixels("0") pixels("1") pixels("2") pixels("3")
#define COLONNADE_SUMS(r) [a##r] "+x"(at[r][0].v), [b##r] "+x"(at[r][1].v)
#define COLONNADE_WIDE_SUMS(r) COLONNADE_SUMS(r), [c##r] "+x"(at[r][2].v), [d##r] "+x"(at[r][3].v)
#define COLONNADE_OPERANDS [x] "r"(x), [w] "r"(weights), [s] "r"(stride)
// clang-format on

/// at[r][v] += x[r][k] * weights[k][v] for four k, in their order. Pixels lie `stride` bytes apart, panels
/// `panel_stride`.
template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void four_steps(Vec (&at)[R][V], const void* x, std::ptrdiff_t stride,
                                              const float* weights, std::ptrdiff_t panel_stride) {
  if constexpr (V == 4 && R == 2) {
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_TWO_WIDE_PIXELS)
                 : COLONNADE_WIDE_SUMS(0), COLONNADE_WIDE_SUMS(1)
                 : COLONNADE_OPERANDS, [panel] "r"(panel_stride)
                 : "memory", "xmm12", "xmm13", "xmm14");
  } else if constexpr (V == 4) {
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_THREE_WIDE_PIXELS)
                 : COLONNADE_WIDE_SUMS(0), COLONNADE_WIDE_SUMS(1), COLONNADE_WIDE_SUMS(2)
                 : COLONNADE_OPERANDS, [panel] "r"(panel_stride)
                 : "memory", "xmm12", "xmm13", "xmm14", "xmm15");
  } else if constexpr (R == 3) {
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_THREE_PIXELS)
                 : COLONNADE_SUMS(0), COLONNADE_SUMS(1), COLONNADE_SUMS(2)
                 : COLONNADE_OPERANDS
                 : "memory", "xmm13", "xmm14", "xmm15");
  } else if constexpr (R == 4) {
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_FOUR_PIXELS)
                 : COLONNADE_SUMS(0), COLONNADE_SUMS(1), COLONNADE_SUMS(2), COLONNADE_SUMS(3)
                 : COLONNADE_OPERANDS, [s3] "r"(3 * stride)
                 : "memory", "xmm13", "xmm14", "xmm15");
  } else if constexpr (R == 5) {
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_FIVE_PIXELS)
                 : COLONNADE_SUMS(0), COLONNADE_SUMS(1), COLONNADE_SUMS(2), COLONNADE_SUMS(3), COLONNADE_SUMS(4)
                 : COLONNADE_OPERANDS, [s3] "r"(3 * stride)
                 : "memory", "xmm13", "xmm14", "xmm15");
  } else {
    static_assert(R == 6 && V == 2);
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_SIX_PIXELS)
                 : COLONNADE_SUMS(0), COLONNADE_SUMS(1), COLONNADE_SUMS(2), COLONNADE_SUMS(3), COLONNADE_SUMS(4),
                   COLONNADE_SUMS(5)
                 : COLONNADE_OPERANDS, [s3] "r"(3 * stride), [s5] "r"(5 * stride)
                 : "memory", "xmm13", "xmm14", "xmm15");
  }
}

#undef COLONNADE_PIXEL
#undef COLONNADE_THREE_PIXELS
#undef COLONNADE_FOUR_PIXELS
#undef COLONNADE_FIVE_PIXELS
#undef COLONNADE_SIX_PIXELS
#undef COLONNADE_WIDE_TWO
#undef COLONNADE_WIDE_THREE
#undef COLONNADE_TWO_PANELS
#undef COLONNADE_TWO_WIDE_PIXELS
#undef COLONNADE_THREE_WIDE_PIXELS
#undef COLONNADE_FOUR_STEPS
#undef COLONNADE_SUMS
#undef COLONNADE_WIDE_SUMS
#undef COLONNADE_OPERANDS
#else
template <std::size_t R, std::size_t V>
inline constexpr bool kHasFourSteps = false;
#endif

}  // namespace
}  // namespace colonnade::kernels
