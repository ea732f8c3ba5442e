// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise/generic.hpp"

namespace colonnade::kernels::elementwise {

extern const Kernel kAvx2;
constinit const Kernel kAvx2 = {"avx2", Isa::avx2, run_unary, run_binary};

}  // namespace colonnade::kernels::elementwise
