// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/byte_winograd/generic.hpp"

namespace colonnade::kernels {

static constexpr byte_winograd::Kernel kKernel = {"byte_winograd_4x4_" COLONNADE_TIER_NAME, kThisIsa,
                                                  byte_winograd::run};

template <>
KernelList<byte_winograd::Kernel> kernels_of<byte_winograd::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
