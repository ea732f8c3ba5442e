// SPDX-License-Identifier: Apache-2.0
// The error function where lanes can be looked up by others; elsewhere it is in vector_math.hpp.
#pragma once

#include "kernels/base/lookup.hpp"
#include "kernels/base/simd.hpp"

#if defined(__AVX2__)
namespace colonnade::kernels {
namespace {

/// Of t = |x| - k * 67 / 128, the coefficients for k from 0 to 7, from the constant one on.
alignas(32) inline constexpr float kErf[7][8] = {
    {0.000000000e+00f, 5.408531427e-01f, 8.612614274e-01f, 9.736325741e-01f, 9.969336987e-01f, 9.997854829e-01f,
     9.999910593e-01f, 9.999997616e-01f},
    {1.128379226e+00f, 8.579544425e-01f, 3.771305680e-01f, 9.583751112e-02f, 1.407982409e-02f, 1.195884892e-03f,
     5.872823385e-05f, 1.667748052e-06f},
    {-1.062371666e-06f, -4.490854442e-01f, -3.948087394e-01f, -1.504953057e-01f, -2.947961725e-02f, -3.129787510e-03f,
     -1.844285580e-04f, -6.110313734e-06f},
    {-3.760786951e-01f, -1.293011010e-01f, 1.497795135e-01f, 1.256266087e-01f, 3.646481410e-02f, 5.059515126e-03f,
     3.654964676e-04f, 1.425737082e-05f},
    {-7.844681968e-04f, 1.834989339e-01f, 5.321462825e-02f, -4.844322056e-02f, -2.834878676e-02f, -5.581547506e-03f,
     -5.133026280e-04f, -2.411173045e-05f},
    {1.186914593e-01f, 1.196819241e-03f, -6.564570218e-02f, -7.921246812e-03f, 1.252726093e-02f, 4.403659143e-03f,
     5.664658383e-04f, 3.439110151e-05f},
    {-2.028611675e-02f, -4.793999717e-02f, 8.456357755e-03f, 1.650736853e-02f, -1.151737524e-03f, -2.275791485e-03f,
     -4.404625506e-04f, -3.478336293e-05f},
};

/// A polynomial for each eighth of the numbers up to where erf is 1, its coefficients looked up by lane: within 2.3
/// units in the last place. The magic number rounds, and leaves which eighth it is in the lowest places.
inline Vec erf(Vec x) {
  const Vec magic = broadcast(12582912.0f), z = min(broadcast(3.925f), abs(x));
  const Vec eighth = fma(z, broadcast(128.0f / 67.0f), magic);
  const Vec t = fnma(eighth - magic, broadcast(67.0f / 128.0f), z);
  Vec sum = lookup_eight(kErf[6], eighth);
#pragma GCC unroll 6
  for (std::size_t i = 6; i-- > 0;) sum = fma(sum, t, lookup_eight(kErf[i], eighth));
  return copy_sign(min(broadcast(1.0f), sum), x);
}

}  // namespace
}  // namespace colonnade::kernels
#endif
