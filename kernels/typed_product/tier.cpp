// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/typed_product/generic.hpp"

namespace colonnade::kernels {

static constexpr typed_product::Kernel kKernel = {COLONNADE_TIER_NAME,         kThisIsa,
                                                  typed_product::terms,        typed_product::find_pack,
                                                  typed_product::find_product, typed_product::no_few};

template <>
KernelList<typed_product::Kernel> kernels_of<typed_product::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
