// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/peak/generic.hpp"

namespace colonnade::kernels {

static constexpr peak::Kernel kKernel = {"peak_f32_" COLONNADE_TIER_NAME, kThisIsa, peak::kFlopPerRound,
                                         peak::multiply_add, peak::sum};

template <>
KernelList<peak::Kernel> kernels_of<peak::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
