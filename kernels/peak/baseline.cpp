// SPDX-License-Identifier: Apache-2.0
#include "kernels/peak/generic.hpp"

namespace colonnade::kernels::peak {

extern constinit const Kernel kBaseline;
constinit const Kernel kBaseline = {"peak_f32_baseline", Isa::baseline, kFlopPerRound, multiply_add, sum};

}  // namespace colonnade::kernels::peak
