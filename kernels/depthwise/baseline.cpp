// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise/generic.hpp"

namespace colonnade::kernels::depthwise {

extern const Kernel kBaseline;
constinit const Kernel kBaseline = {"baseline", Isa::baseline, run_generic};

}  // namespace colonnade::kernels::depthwise
