// SPDX-License-Identifier: Apache-2.0
#define COLONNADE_PAIRS 1
#include "kernels/base/tier.hpp"
#include "kernels/gemm/pairs.hpp"

namespace colonnade::kernels {

static constexpr gemm::Kernel kKernel = {"conv_bf16_" COLONNADE_TILE "_" COLONNADE_TIER_NAME, kThisIsa, Encoding::bf16,
                                         gemm::conv_pairs};

template <>
KernelList<gemm::Kernel> kernels_of<gemm::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
