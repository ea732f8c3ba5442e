// SPDX-License-Identifier: Apache-2.0
#include "kernels/winograd/generic.hpp"
#include "kernels/winograd/tiers.hpp"

namespace colonnade::kernels::winograd {

void convolve_2x2_baseline(const Args& args) noexcept { convolve<TwoByTwo>(args); }
void convolve_4x4_baseline(const Args& args) noexcept { convolve<FourByFour>(args); }
void convolve_6x6_baseline(const Args& args) noexcept { convolve<SixBySix>(args); }

}  // namespace colonnade::kernels::winograd
