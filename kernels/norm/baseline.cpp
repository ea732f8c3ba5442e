// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/generic.hpp"

namespace colonnade::kernels::norm {

extern const Kernel kBaseline;
constinit const Kernel kBaseline = {"baseline", Isa::baseline,     run_softmax, run_layer_norm,
                                    run_reduce, run_instance_norm, run_lrn};

}  // namespace colonnade::kernels::norm
