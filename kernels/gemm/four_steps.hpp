// SPDX-License-Identifier: Apache-2.0
// Four steps of a tile of floats as one statement: of a panel, or of two for few pixels.
#pragma once

#define COLONNADE_CONSTANTS
#include "kernels/base/four_steps.hpp"
#include "kernels/base/simd.hpp"

namespace colonnade::kernels {
namespace {

#if defined(__AVX2__) && !defined(__AVX512F__)
/// Whether a tile of R pixels and V vectors has them.
template <std::size_t R, std::size_t V>
inline constexpr bool kHasFourSteps = (V == 2 && R >= 3 && R <= 6) || (V == 4 && (R == 2 || R == 3));

// clang-format off
#define COLONNADE_WEIGHTS(step)                  \
  "vmovups 64*" step "(%[w]),%%ymm13\n\t"        \
  "vmovups 64*" step "+32(%[w]),%%ymm14\n\t"
#define COLONNADE_PIXEL(step, at, r)             \
  "vbroadcastss 4*" step at ",%%ymm15\n\t"       \
  "vfmadd231ps %%ymm13,%%ymm15,%[a" r "]\n\t"    \
  "vfmadd231ps %%ymm14,%%ymm15,%[b" r "]\n\t"
// Of two panels: the pixels into ymm13 to ymm15, then one vector of weights after another into ymm12.
#define COLONNADE_TWO_WIDE(step, from, v)        \
  "vmovups 64*" step from ",%%ymm12\n\t"         \
  "vfmadd231ps %%ymm12,%%ymm13,%[" v "0]\n\t"    \
  "vfmadd231ps %%ymm12,%%ymm14,%[" v "1]\n\t"
#define COLONNADE_THREE_WIDE(step, from, v)      \
  COLONNADE_TWO_WIDE(step, from, v)              \
  "vfmadd231ps %%ymm12,%%ymm15,%[" v "2]\n\t"
#define COLONNADE_TWO_PANELS(step, pixels)                     \
  pixels(step, "(%[w])", "a") pixels(step, "+32(%[w])", "b")   \
  pixels(step, "(%[w],%[panel])", "c") pixels(step, "+32(%[w],%[panel])", "d")
#define COLONNADE_TWO_WIDE_PIXELS(step)            \
  "vbroadcastss 4*" step "(%[x]),%%ymm13\n\t"      \
  "vbroadcastss 4*" step "(%[x],%[s]),%%ymm14\n\t" COLONNADE_TWO_PANELS(step, COLONNADE_TWO_WIDE)
#define COLONNADE_THREE_WIDE_PIXELS(step)            \
  "vbroadcastss 4*" step "(%[x]),%%ymm13\n\t"        \
  "vbroadcastss 4*" step "(%[x],%[s]),%%ymm14\n\t"   \
  "vbroadcastss 4*" step "(%[x],%[s],2),%%ymm15\n\t" COLONNADE_TWO_PANELS(step, COLONNADE_THREE_WIDE)
#define COLONNADE_WIDE_SUMS(r) COLONNADE_SUMS(at, r), [c##r] "+x"(at[r][2].v), [d##r] "+x"(at[r][3].v)
// clang-format on

/// at[r][v] += x[r][k] * weights[k][v] for four k, in their order. Pixels lie `stride` bytes apart, panels
/// `panel_stride`.
template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void four_steps(Vec (&at)[R][V], const void* x, std::ptrdiff_t stride,
                                              const float* weights, [[maybe_unused]] std::ptrdiff_t panel_stride) {
  if constexpr (V == 4 && R == 2)
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_TWO_WIDE_PIXELS)
                 : COLONNADE_WIDE_SUMS(0), COLONNADE_WIDE_SUMS(1)
                 : COLONNADE_OPERANDS(x, weights, stride), [panel] "r"(panel_stride)
                 : COLONNADE_CLOBBERS);
  else if constexpr (V == 4)
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_THREE_WIDE_PIXELS)
                 : COLONNADE_WIDE_SUMS(0), COLONNADE_WIDE_SUMS(1), COLONNADE_WIDE_SUMS(2)
                 : COLONNADE_OPERANDS(x, weights, stride), [panel] "r"(panel_stride)
                 : COLONNADE_CLOBBERS);
  else
    COLONNADE_FOUR_STEPS_OF(R, at, x, weights, stride);
}

#undef COLONNADE_WEIGHTS
#undef COLONNADE_PIXEL
#undef COLONNADE_TWO_WIDE
#undef COLONNADE_THREE_WIDE
#undef COLONNADE_TWO_PANELS
#undef COLONNADE_TWO_WIDE_PIXELS
#undef COLONNADE_THREE_WIDE_PIXELS
#undef COLONNADE_WIDE_SUMS
#else
template <std::size_t R, std::size_t V>
inline constexpr bool kHasFourSteps = false;
#endif

}  // namespace
}  // namespace colonnade::kernels
