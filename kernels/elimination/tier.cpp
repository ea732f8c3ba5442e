// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/elimination/generic.hpp"

namespace colonnade::kernels {

static constexpr elimination::Kernel kKernel = {COLONNADE_TIER_NAME, kThisIsa, elimination::run_determinant,
                                                elimination::run_solve};

template <>
KernelList<elimination::Kernel> kernels_of<elimination::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
