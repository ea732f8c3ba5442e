// SPDX-License-Identifier: Apache-2.0
#include "kernels/pool/generic.hpp"

namespace colonnade::kernels::pool {

extern const Kernel kAvx2;
constinit const Kernel kAvx2 = {"avx2", Isa::avx2, run_generic};

}  // namespace colonnade::kernels::pool
