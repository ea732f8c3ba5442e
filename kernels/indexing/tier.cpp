// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/indexing/generic.hpp"

namespace colonnade::kernels {

static constexpr indexing::Kernel kKernel = {
    COLONNADE_TIER_NAME, kThisIsa,           indexing::find_elements, indexing::find_tuples,
    indexing::find_take, indexing::find_put, indexing::find_merge};

template <>
KernelList<indexing::Kernel> kernels_of<indexing::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
