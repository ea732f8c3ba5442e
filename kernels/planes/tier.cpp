// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/planes/generic.hpp"

namespace colonnade::kernels {

static constexpr planes::Kernel kKernel = {COLONNADE_TIER_NAME, kThisIsa, planes::run_generic};

template <>
KernelList<planes::Kernel> kernels_of<planes::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
