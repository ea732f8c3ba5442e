// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/byte_depthwise/generic.hpp"

namespace colonnade::kernels {

static constexpr byte_depthwise::Kernel kKernel = {COLONNADE_TIER_NAME,
                                                   kThisIsa,
                                                   byte_depthwise::packed_bytes,
                                                   byte_depthwise::pack,
                                                   byte_depthwise::prepared_bytes,
                                                   byte_depthwise::prepare,
                                                   byte_depthwise::run_generic};

template <>
KernelList<byte_depthwise::Kernel> kernels_of<byte_depthwise::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
