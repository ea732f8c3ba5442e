// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/row_winograd/generic.hpp"

namespace colonnade::kernels {

static constexpr row_winograd::Kernel kKernels[] = {
#define KERNEL(name, outputs, taps, ...)             \
  {"row_winograd_f32_" name "_" COLONNADE_TIER_NAME, \
   kThisIsa,                                         \
   {outputs, taps},                                  \
   row_winograd::convolve<winograd::__VA_ARGS__>},
    KERNEL("6_of_3", 6, 3, EightPoints<3>) KERNEL("5_of_4", 5, 4, EightPoints<4>) KERNEL("4_of_5", 4, 5, EightPoints<5>)
        KERNEL("4_of_3", 4, 3, SixPoints<3>) KERNEL("5_of_2", 5, 2, SixPoints<2>)
#undef KERNEL
};

template <>
KernelList<row_winograd::Kernel> kernels_of<row_winograd::Kernel, ThisTier>() noexcept {
  return {kKernels, sizeof kKernels / sizeof *kKernels};
}

}  // namespace colonnade::kernels
