// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of rows share.
#pragma once

#include <benchmark/benchmark.h>

#include <string>

#include "kernels/base/isa.hpp"

namespace colonnade::bench {

inline void count_bytes(benchmark::State& state, double bytes) {
  state.counters["GB/s"] = benchmark::Counter(bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

/// Registers a benchmark of a row of a table, where this machine runs it.
template <class Kernel, class Run>
void add(const std::string& name, const Kernel& kernel, Run run) {
  if (!kernels::host_features().contains(kernel.isa)) return;
  benchmark::RegisterBenchmark((name + "/" + kernel.name).c_str(), run);
}

}  // namespace colonnade::bench
