// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/linear_attention/generic.hpp"

namespace colonnade::kernels {

static constexpr linear_attention::Kernel kKernel = {"linear_attention_" COLONNADE_TIER_NAME, kThisIsa,
                                                     linear_attention::kColumns, linear_attention::run};

template <>
KernelList<linear_attention::Kernel> kernels_of<linear_attention::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
