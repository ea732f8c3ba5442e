// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/move/generic.hpp"
#include "kernels/move/matrices.hpp"

namespace colonnade::kernels {

static constexpr move::Kernel kKernel = {
    COLONNADE_TIER_NAME,        kThisIsa,         move::run_copy,     move::run_fill, move::run_planes_to_pixels,
    move::run_pixels_to_planes, move::run_resize, move::run_transpose};

template <>
KernelList<move::Kernel> kernels_of<move::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
