// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise/generic.hpp"

namespace colonnade::kernels::depthwise {

extern const Kernel kAvx512;
constinit const Kernel kAvx512 = {"avx512", Isa::avx512, run_generic};

}  // namespace colonnade::kernels::depthwise
