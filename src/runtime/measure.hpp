// SPDX-License-Identifier: Apache-2.0
// How fast the machine is, by the loops of kernels/peak.
#pragma once

#include <cstdint>

#include "kernels/base/isa.hpp"

namespace colonnade {

/// Measures fp32 FMA peak (GFLOP/s) of `threads` threads under a tier, and read bandwidth (GB/s) over a working set of
/// each. Threads that the machine does not have take turns.
double measure_fma_gflops(kernels::Features features, int threads);
double measure_read_gbs(std::int64_t working_set_bytes, int threads);

}  // namespace colonnade
