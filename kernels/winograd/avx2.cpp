// SPDX-License-Identifier: Apache-2.0
#include "kernels/winograd/generic.hpp"
#include "kernels/winograd/tiers.hpp"

namespace colonnade::kernels::winograd {

void convolve_2x2_avx2(const Args& args) noexcept { convolve<FourPoints<3>>(args); }
void convolve_4x4_avx2(const Args& args) noexcept { convolve<SixPoints<3>>(args); }
void convolve_6x6_avx2(const Args& args) noexcept { convolve<EightPoints<3>>(args); }
void convolve_3x3_of_2x2_avx2(const Args& args) noexcept { convolve<FourPoints<2>>(args); }
void convolve_5x5_of_2x2_avx2(const Args& args) noexcept { convolve<SixPoints<2>>(args); }
void convolve_3x3_of_4x4_avx2(const Args& args) noexcept { convolve<SixPoints<4>>(args); }
void convolve_5x5_of_4x4_avx2(const Args& args) noexcept { convolve<EightPoints<4>>(args); }
void convolve_2x2_of_5x5_avx2(const Args& args) noexcept { convolve<SixPoints<5>>(args); }
void convolve_4x4_of_5x5_avx2(const Args& args) noexcept { convolve<EightPoints<5>>(args); }

}  // namespace colonnade::kernels::winograd
