// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"
#include "kernels/narrow_bytes/generic.hpp"

namespace colonnade::kernels {

static constexpr narrow_bytes::Kernel kKernel = {"narrow_bytes_" COLONNADE_TIER_NAME, kThisIsa, narrow_bytes::kSpeed,
                                                 narrow_bytes::prepare, narrow_bytes::multiply};

template <>
KernelList<narrow_bytes::Kernel> kernels_of<narrow_bytes::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
