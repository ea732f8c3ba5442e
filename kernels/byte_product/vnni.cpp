// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"
#include "kernels/byte_product/generic.hpp"

namespace colonnade::kernels {

static constexpr byte_product::Kernel kKernel = {"byte_product_" COLONNADE_BYTE_TILE "_" COLONNADE_TIER_NAME, kThisIsa,
                                                 byte_product::kPacking, byte_product::run,
                                                 byte_product::workspace_bytes};

template <>
KernelList<byte_product::Kernel> kernels_of<byte_product::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
