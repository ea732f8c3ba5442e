// SPDX-License-Identifier: Apache-2.0
// AVX2 with sums of four products of bytes.
#include "kernels/byte_depthwise/tier.cpp"
