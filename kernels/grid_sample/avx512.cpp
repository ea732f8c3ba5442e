// SPDX-License-Identifier: Apache-2.0
#include "kernels/grid_sample/generic.hpp"

namespace colonnade::kernels::grid_sample {

extern const Kernel kAvx512;
constinit const Kernel kAvx512 = {"avx512", Isa::avx512, run};

}  // namespace colonnade::kernels::grid_sample
