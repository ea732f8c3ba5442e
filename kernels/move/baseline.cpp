// SPDX-License-Identifier: Apache-2.0
#include "kernels/move/generic.hpp"

namespace colonnade::kernels::move {

extern const Kernel kBaseline;
constinit const Kernel kBaseline = {"baseline",           Isa::baseline,        run_copy,  run_fill,
                                    run_planes_to_pixels, run_pixels_to_planes, run_resize};

}  // namespace colonnade::kernels::move
