// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/norm/across.hpp"
#include "kernels/norm/generic.hpp"
#include "kernels/norm/reduce.hpp"

namespace colonnade::kernels {

static constexpr norm::Kernel kKernel = {
    COLONNADE_TIER_NAME, kThisIsa,         norm::run_softmax, norm::run_softmax_across, norm::run_layer_norm,
    norm::run_line_norm, norm::run_reduce, norm::run_range,   norm::run_instance_norm,  norm::run_lrn};

template <>
KernelList<norm::Kernel> kernels_of<norm::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
