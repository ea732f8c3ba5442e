// SPDX-License-Identifier: Apache-2.0
#include "kernels/shift_add/generic.hpp"

namespace colonnade::kernels::shift_add {

extern const Kernel kBaseline;
constinit const Kernel kBaseline = {"baseline", Isa::baseline, run_generic};

}  // namespace colonnade::kernels::shift_add
