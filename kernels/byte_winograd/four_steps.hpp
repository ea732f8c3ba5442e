// SPDX-License-Identifier: Apache-2.0
// Four steps of a register tile as one statement, where two instructions multiply and add.
#pragma once

#define COLONNADE_CONSTANTS
#include "kernels/base/four_steps.hpp"
#include "kernels/byte_product/vector.hpp"

namespace colonnade::kernels::byte_winograd {
namespace {

using byte_product::IntVec;

#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(__AVXVNNI__)
/// Whether a register tile of R tiles and V vectors has them.
template <std::size_t R, std::size_t V>
inline constexpr bool kHasFourSteps = V == 2 && R >= 3 && R <= 6;

// clang-format off
#define COLONNADE_WEIGHTS(step)                  \
  "vmovdqu 64*" step "(%[w]),%%ymm12\n\t"        \
  "vmovdqu 64*" step "+32(%[w]),%%ymm13\n\t"
#define COLONNADE_PIXEL(step, at, r)             \
  "vpbroadcastd 4*" step at ",%%ymm14\n\t"       \
  "vpmaddwd %%ymm12,%%ymm14,%%ymm15\n\t"         \
  "vpmaddwd %%ymm13,%%ymm14,%%ymm14\n\t"         \
  "vpaddd %%ymm15,%[a" r "],%[a" r "]\n\t"       \
  "vpaddd %%ymm14,%[b" r "],%[b" r "]\n\t"
// clang-format on

/// Adds four steps of `weights` times those of rows of inputs that lie `stride` bytes apart.
template <std::size_t R>
[[gnu::always_inline]] inline void four_steps(IntVec (&at)[R][2], const char* x, std::ptrdiff_t stride,
                                              const std::byte* weights) {
  COLONNADE_FOUR_STEPS_OF(R, at, x, weights, stride);
}

#undef COLONNADE_WEIGHTS
#undef COLONNADE_PIXEL
#else
template <std::size_t R, std::size_t V>
inline constexpr bool kHasFourSteps = false;
#endif

}  // namespace
}  // namespace colonnade::kernels::byte_winograd
