// SPDX-License-Identifier: Apache-2.0
#include "kernels/grid_sample/generic.hpp"

namespace colonnade::kernels::grid_sample {

extern const Kernel kBaseline;
constinit const Kernel kBaseline = {"baseline", Isa::baseline, run};

}  // namespace colonnade::kernels::grid_sample
