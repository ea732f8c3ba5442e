// SPDX-License-Identifier: Apache-2.0
#include "kernels/planes/generic.hpp"

namespace colonnade::kernels::planes {

extern const Kernel kAvx2;
constinit const Kernel kAvx2 = {"avx2", Isa::avx2, run_generic};

}  // namespace colonnade::kernels::planes
