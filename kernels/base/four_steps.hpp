// SPDX-License-Identifier: Apache-2.0
// Four steps of a register tile of three to six pixels times a panel of two vectors as one statement, for processors
// with sixteen registers of eight lanes. Sums, weights and pixels fill them, so that GCC 12 else copies some with each
// step; and a loop of single steps has as many instructions beside its multiplications as it has multiplications. That
// matters where the core's other thread works too: each then starts half as many instructions a cycle.
//
// Who includes it defines, as text of the assembler for a step "0" to "3":
//   COLONNADE_WEIGHTS(step)       brings the step's weights, at %[w], into registers
//   COLONNADE_PIXEL(step, at, r)  adds the product of them and the pixel at `at` to the sums %[a]r and %[b]r
//   COLONNADE_CONSTANTS           is nothing, or more operands that they name, each after a comma
// ymm12 to ymm15 are theirs.
#pragma once

#include <cstddef>

namespace colonnade::kernels {
namespace {

inline constexpr std::size_t kFourSteps = 4;

}  // namespace
}  // namespace colonnade::kernels

// clang-format off
#define COLONNADE_THREE_PIXELS(step)             \
  COLONNADE_WEIGHTS(step)                        \
  COLONNADE_PIXEL(step, "(%[x])", "0")           \
  COLONNADE_PIXEL(step, "(%[x],%[s])", "1")      \
  COLONNADE_PIXEL(step, "(%[x],%[s],2)", "2")
#define COLONNADE_FOUR_PIXELS(step) COLONNADE_THREE_PIXELS(step) COLONNADE_PIXEL(step, "(%[x],%[s3])", "3")
#define COLONNADE_FIVE_PIXELS(step) COLONNADE_FOUR_PIXELS(step) COLONNADE_PIXEL(step, "(%[x],%[s],4)", "4")
#define COLONNADE_SIX_PIXELS(step) COLONNADE_FIVE_PIXELS(step) COLONNADE_PIXEL(step, "(%[x],%[s5])", "5")
#define COLONNADE_FOUR_STEPS(pixels) pixels("0") pixels("1") pixels("2") pixels("3")
#define COLONNADE_SUMS(at, r) [a##r] "+x"(at[r][0].v), [b##r] "+x"(at[r][1].v)
#define COLONNADE_THREE_SUMS(at) COLONNADE_SUMS(at, 0), COLONNADE_SUMS(at, 1), COLONNADE_SUMS(at, 2)
#define COLONNADE_OPERANDS(x_, weights, stride) [x] "r"(x_), [w] "r"(weights), [s] "r"(stride) COLONNADE_CONSTANTS
#define COLONNADE_CLOBBERS "memory", "xmm12", "xmm13", "xmm14", "xmm15"

/// The statement for `R` pixels, the first at `x`, that lie `stride` bytes apart; at[R][2] are sums.
#define COLONNADE_FOUR_STEPS_OF(R, at, x, weights, stride)                                                   \
  if constexpr (R == 3)                                                                                      \
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_THREE_PIXELS)                                                \
                 : COLONNADE_THREE_SUMS(at)                                                                  \
                 : COLONNADE_OPERANDS(x, weights, stride)                                                    \
                 : COLONNADE_CLOBBERS);                                                                      \
  else if constexpr (R == 4)                                                                                 \
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_FOUR_PIXELS)                                                 \
                 : COLONNADE_THREE_SUMS(at), COLONNADE_SUMS(at, 3)                                           \
                 : COLONNADE_OPERANDS(x, weights, stride), [s3] "r"(3 * (stride))                            \
                 : COLONNADE_CLOBBERS);                                                                      \
  else if constexpr (R == 5)                                                                                 \
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_FIVE_PIXELS)                                                 \
                 : COLONNADE_THREE_SUMS(at), COLONNADE_SUMS(at, 3), COLONNADE_SUMS(at, 4)                    \
                 : COLONNADE_OPERANDS(x, weights, stride), [s3] "r"(3 * (stride))                            \
                 : COLONNADE_CLOBBERS);                                                                      \
  else                                                                                                       \
    asm volatile(COLONNADE_FOUR_STEPS(COLONNADE_SIX_PIXELS)                                                  \
                 : COLONNADE_THREE_SUMS(at), COLONNADE_SUMS(at, 3), COLONNADE_SUMS(at, 4), COLONNADE_SUMS(at, 5) \
                 : COLONNADE_OPERANDS(x, weights, stride), [s3] "r"(3 * (stride)), [s5] "r"(5 * (stride))    \
                 : COLONNADE_CLOBBERS)
// clang-format on
