// SPDX-License-Identifier: Apache-2.0
// AVX-512 with sums of four products of bytes in one instruction.
#include "kernels/byte_depthwise/tier.cpp"
