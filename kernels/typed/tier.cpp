// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/typed/generic.hpp"
#include "kernels/typed/reduce.hpp"
#include "kernels/typed/softmax.hpp"

namespace colonnade::kernels {

static constexpr typed::Kernel kKernel = {
    COLONNADE_TIER_NAME, kThisIsa,         typed::find_unary, typed::find_binary, typed::find_cast,
    typed::find_select,  typed::find_copy, typed::find_arg,   typed::find_reduce, typed::softmax_lines};

template <>
KernelList<typed::Kernel> kernels_of<typed::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
