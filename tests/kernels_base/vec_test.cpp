// SPDX-License-Identifier: Apache-2.0
#define VEC_SUITE TierVec
#include "kernels_base/vec_cases.hpp"
