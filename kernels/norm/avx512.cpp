// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/generic.hpp"

namespace colonnade::kernels::norm {

extern const Kernel kAvx512;
constinit const Kernel kAvx512 = {"avx512",   Isa::avx512,       run_softmax, run_layer_norm,
                                  run_reduce, run_instance_norm, run_lrn};

}  // namespace colonnade::kernels::norm
