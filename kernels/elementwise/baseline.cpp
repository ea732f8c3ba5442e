// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise/generic.hpp"

namespace colonnade::kernels::elementwise {

extern const Kernel kBaseline;
constinit const Kernel kBaseline = {"baseline", Isa::baseline, run_unary, run_binary};

}  // namespace colonnade::kernels::elementwise
