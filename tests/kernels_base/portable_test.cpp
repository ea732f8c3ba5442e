// SPDX-License-Identifier: Apache-2.0
// The vectors of machines that xsimd does not know, on this one.
#define COLONNADE_PORTABLE_VECTORS
#define COLONNADE_THIS_TIER portable
#define VEC_SUITE PortableVec
#include "kernels_base/vec_cases.hpp"
