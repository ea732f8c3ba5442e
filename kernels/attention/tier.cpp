// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/attention/generic.hpp"

namespace colonnade::kernels {

static constexpr attention::Kernel kKernel = {COLONNADE_TIER_NAME, kThisIsa, attention::live_keys,
                                              attention::run_shares, attention::run_divide};

template <>
KernelList<attention::Kernel> kernels_of<attention::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
