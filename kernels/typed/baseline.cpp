// SPDX-License-Identifier: Apache-2.0
#include "kernels/typed/generic.hpp"

namespace colonnade::kernels::typed {

extern const Kernel kBaseline;
constinit const Kernel kBaseline = {"baseline",  Isa::baseline, find_unary, find_binary, find_cast,
                                    find_select, find_copy,     find_arg,   find_product};

}  // namespace colonnade::kernels::typed
