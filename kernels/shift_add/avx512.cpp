// SPDX-License-Identifier: Apache-2.0
#include "kernels/shift_add/generic.hpp"

namespace colonnade::kernels::shift_add {

extern const Kernel kAvx512;
constinit const Kernel kAvx512 = {"avx512", Isa::avx512, run_generic};

}  // namespace colonnade::kernels::shift_add
