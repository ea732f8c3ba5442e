// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/depthwise/generic.hpp"

namespace colonnade::kernels {

static constexpr depthwise::Kernel kKernel = {COLONNADE_TIER_NAME, kThisIsa, depthwise::run_generic};

template <>
KernelList<depthwise::Kernel> kernels_of<depthwise::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
