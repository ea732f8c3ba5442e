// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/fourier/generic.hpp"

namespace colonnade::kernels {

static constexpr fourier::Kernel kKernel = {COLONNADE_TIER_NAME, kThisIsa, fourier::kLanes, fourier::run_transform};

template <>
KernelList<fourier::Kernel> kernels_of<fourier::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
