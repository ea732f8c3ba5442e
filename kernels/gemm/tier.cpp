// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/gemm/generic.hpp"
#include "kernels/gemm/pair_weights.hpp"

namespace colonnade::kernels {

static constexpr gemm::Kernel kKernels[] = {
    {"conv_f32_" COLONNADE_TILE "_" COLONNADE_TIER_NAME, kThisIsa, Encoding::f32, gemm::conv},
    {"conv_f32_by_bf16_" COLONNADE_TIER_NAME, kThisIsa, Encoding::bf16, gemm::conv_pair_weights}};

template <>
KernelList<gemm::Kernel> kernels_of<gemm::Kernel, ThisTier>() noexcept {
  return {kKernels, 2};
}

}  // namespace colonnade::kernels
