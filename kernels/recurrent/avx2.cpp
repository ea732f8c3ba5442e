// SPDX-License-Identifier: Apache-2.0
#include "kernels/recurrent/generic.hpp"

namespace colonnade::kernels::recurrent {

extern const Kernel kAvx2;
constinit const Kernel kAvx2 = {"avx2", Isa::avx2, run_lstm, run_gru, run_reset};

}  // namespace colonnade::kernels::recurrent
