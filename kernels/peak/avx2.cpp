// SPDX-License-Identifier: Apache-2.0
#include "kernels/peak/generic.hpp"

namespace colonnade::kernels::peak {

extern constinit const Kernel kAvx2;
constinit const Kernel kAvx2 = {"peak_f32_avx2", Isa::avx2, kFlopPerRound, multiply_add, sum};

}  // namespace colonnade::kernels::peak
