// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/winograd/generic.hpp"

namespace colonnade::kernels {

static constexpr winograd::Kernel kKernels[] = {
#define KERNEL(name, outputs, taps, ...)         \
  {"winograd_f32_" name "_" COLONNADE_TIER_NAME, \
   kThisIsa,                                     \
   {outputs, taps},                              \
   Encoding::f32,                                \
   winograd::convolve<winograd::__VA_ARGS__>},
    COLONNADE_TILES(KERNEL)
#undef KERNEL
};

template <>
KernelList<winograd::Kernel> kernels_of<winograd::Kernel, ThisTier>() noexcept {
  return {kKernels, sizeof kKernels / sizeof *kKernels};
}

}  // namespace colonnade::kernels
