// SPDX-License-Identifier: Apache-2.0
#include "kernels/winograd/generic.hpp"
#include "kernels/winograd/tiers.hpp"

namespace colonnade::kernels::winograd {

void convolve_avx2(const Args& args) noexcept { convolve(args); }

}  // namespace colonnade::kernels::winograd
