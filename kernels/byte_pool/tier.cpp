// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/byte_pool/generic.hpp"

namespace colonnade::kernels {

static constexpr byte_pool::Kernel kKernel = {COLONNADE_TIER_NAME, kThisIsa, byte_pool::run_generic};

template <>
KernelList<byte_pool::Kernel> kernels_of<byte_pool::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
