// SPDX-License-Identifier: Apache-2.0
#include "kernels/pool/generic.hpp"

namespace colonnade::kernels::pool {

extern const Kernel kBaseline;
constinit const Kernel kBaseline = {"baseline", Isa::baseline, run_generic};

}  // namespace colonnade::kernels::pool
