// SPDX-License-Identifier: Apache-2.0
#include "kernels/grid_sample/generic.hpp"

namespace colonnade::kernels::grid_sample {

extern const Kernel kAvx2;
constinit const Kernel kAvx2 = {"avx2", Isa::avx2, run};

}  // namespace colonnade::kernels::grid_sample
