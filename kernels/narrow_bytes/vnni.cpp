// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"
#include "kernels/narrow_bytes/generic.hpp"

namespace colonnade::kernels {

static constexpr narrow_bytes::Kernel kKernels[] = {
    narrow_bytes::kernel_of<narrow_bytes::Type::u4>("narrow_bytes_u4_" COLONNADE_TIER_NAME, kThisIsa),
    narrow_bytes::kernel_of<narrow_bytes::Type::u8>("narrow_bytes_u8_" COLONNADE_TIER_NAME, kThisIsa)};

template <>
KernelList<narrow_bytes::Kernel> kernels_of<narrow_bytes::Kernel, ThisTier>() noexcept {
  return {kKernels, 2};
}

}  // namespace colonnade::kernels
