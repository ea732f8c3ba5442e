// SPDX-License-Identifier: Apache-2.0
// The entry point of each ISA file.
#pragma once

#include "kernels/gemm/gemm.hpp"

namespace colonnade::kernels::gemm {

void conv_baseline(const ConvArgs& args) noexcept;
void conv_avx2(const ConvArgs& args) noexcept;
void conv_avx512(const ConvArgs& args) noexcept;
void conv_amx(const ConvArgs& args) noexcept;

}  // namespace colonnade::kernels::gemm
