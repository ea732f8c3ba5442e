// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/convert/generic.hpp"

namespace colonnade::kernels {

static constexpr convert::Kernel kKernel = {COLONNADE_TIER_NAME, kThisIsa, convert::function_of};

template <>
KernelList<convert::Kernel> kernels_of<convert::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
