// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/regions/generic.hpp"

namespace colonnade::kernels {

static constexpr regions::Kernel kKernel = {COLONNADE_TIER_NAME, kThisIsa, regions::align};

template <>
KernelList<regions::Kernel> kernels_of<regions::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
