// SPDX-License-Identifier: Apache-2.0
#include "kernels/shift_add/generic.hpp"

namespace colonnade::kernels::shift_add {

extern const Kernel kAvx2;
constinit const Kernel kAvx2 = {"avx2", Isa::avx2, run_generic};

}  // namespace colonnade::kernels::shift_add
