// SPDX-License-Identifier: Apache-2.0
#include "kernels/planes/generic.hpp"

namespace colonnade::kernels::planes {

extern const Kernel kAvx512;
constinit const Kernel kAvx512 = {"avx512", Isa::avx512, run_generic};

}  // namespace colonnade::kernels::planes
