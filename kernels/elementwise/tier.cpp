// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/elementwise/generic.hpp"

namespace colonnade::kernels {

static constexpr elementwise::Kernel kKernel = {COLONNADE_TIER_NAME,     kThisIsa,
                                                elementwise::run_unary,  elementwise::run_function,
                                                elementwise::run_binary, elementwise::run_rotate};

template <>
KernelList<elementwise::Kernel> kernels_of<elementwise::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
