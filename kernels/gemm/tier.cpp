// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/gemm/generic.hpp"

namespace colonnade::kernels {

static constexpr gemm::Kernel kKernel = {"conv_f32_" COLONNADE_TILE "_" COLONNADE_TIER_NAME, kThisIsa, Encoding::f32,
                                         gemm::conv};

template <>
KernelList<gemm::Kernel> kernels_of<gemm::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
