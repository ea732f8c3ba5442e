// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise/generic.hpp"

namespace colonnade::kernels::elementwise {

extern const Kernel kAvx512;
constinit const Kernel kAvx512 = {"avx512", Isa::avx512, run_unary, run_binary};

}  // namespace colonnade::kernels::elementwise
