// SPDX-License-Identifier: Apache-2.0
#include "kernels/pool/generic.hpp"

namespace colonnade::kernels::pool {

extern const Kernel kAvx512;
constinit const Kernel kAvx512 = {"avx512", Isa::avx512, run_generic};

}  // namespace colonnade::kernels::pool
