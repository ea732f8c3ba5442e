// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/resize/generic.hpp"

namespace colonnade::kernels {

static constexpr resize::Kernel kKernel = {COLONNADE_TIER_NAME, kThisIsa, resize::run_settle, resize::run_blend,
                                           resize::run_lines};

template <>
KernelList<resize::Kernel> kernels_of<resize::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
