// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/lines/generic.hpp"

namespace colonnade::kernels {

static constexpr lines::Kernel kKernel = {COLONNADE_TIER_NAME,
                                          kThisIsa,
                                          lines::find_running<lines::Plus>,
                                          lines::find_running<lines::Times>,
                                          lines::find_peaks,
                                          lines::find_keys,
                                          lines::find_above};

template <>
KernelList<lines::Kernel> kernels_of<lines::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
