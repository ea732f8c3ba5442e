// SPDX-License-Identifier: Apache-2.0
#include "kernels/peak/generic.hpp"

namespace colonnade::kernels::peak {

extern constinit const Kernel kAvx512;
constinit const Kernel kAvx512 = {"peak_f32_avx512", Isa::avx512, kFlopPerRound, multiply_add, sum};

}  // namespace colonnade::kernels::peak
