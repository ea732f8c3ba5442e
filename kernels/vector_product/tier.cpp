// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/vector_product/generic.hpp"

namespace colonnade::kernels {

static constexpr vector_product::Kernel kKernel = {COLONNADE_TIER_NAME, kThisIsa, vector_product::by_rows,
                                                   vector_product::by_columns};

template <>
KernelList<vector_product::Kernel> kernels_of<vector_product::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
