// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/pool/generic.hpp"
#include "kernels/pool/lines.hpp"
#include "kernels/pool/taps.hpp"

namespace colonnade::kernels {

static constexpr pool::Kernel kKernel = {COLONNADE_TIER_NAME, kThisIsa,         pool::run_generic,
                                         pool::run_largest,   pool::run_powers, pool::run_lines};

template <>
KernelList<pool::Kernel> kernels_of<pool::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
