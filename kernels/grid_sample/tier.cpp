// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/grid_sample/generic.hpp"

namespace colonnade::kernels {

static constexpr grid_sample::Kernel kKernel = {COLONNADE_TIER_NAME, kThisIsa, grid_sample::run};

template <>
KernelList<grid_sample::Kernel> kernels_of<grid_sample::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
