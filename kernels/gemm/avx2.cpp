// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/generic.hpp"
#include "kernels/gemm/tiers.hpp"

namespace colonnade::kernels::gemm {

void conv_avx2(const ConvArgs& args) noexcept { conv(args); }

}  // namespace colonnade::kernels::gemm
