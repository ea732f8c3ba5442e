// SPDX-License-Identifier: Apache-2.0
#include "kernels/recurrent/generic.hpp"

namespace colonnade::kernels::recurrent {

extern const Kernel kAvx512;
constinit const Kernel kAvx512 = {"avx512", Isa::avx512, run_lstm, run_gru, run_reset};

}  // namespace colonnade::kernels::recurrent
