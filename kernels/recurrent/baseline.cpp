// SPDX-License-Identifier: Apache-2.0
#include "kernels/recurrent/generic.hpp"

namespace colonnade::kernels::recurrent {

extern const Kernel kBaseline;
constinit const Kernel kBaseline = {"baseline", Isa::baseline, run_lstm, run_gru, run_reset};

}  // namespace colonnade::kernels::recurrent
