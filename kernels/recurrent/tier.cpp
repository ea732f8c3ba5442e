// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/recurrent/generic.hpp"

namespace colonnade::kernels {

static constexpr recurrent::Kernel kKernel = {
    COLONNADE_TIER_NAME, kThisIsa, recurrent::run_lstm, recurrent::run_gru, recurrent::run_reset, recurrent::run_rnn};

template <>
KernelList<recurrent::Kernel> kernels_of<recurrent::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
