// SPDX-License-Identifier: Apache-2.0
#include "kernels/planes/generic.hpp"

namespace colonnade::kernels::planes {

extern const Kernel kBaseline;
constinit const Kernel kBaseline = {"baseline", Isa::baseline, run_generic};

}  // namespace colonnade::kernels::planes
