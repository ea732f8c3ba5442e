// SPDX-License-Identifier: Apache-2.0
// What one core can do at most, measured in the run that reports a share of it.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "bench/buffers.hpp"
#include "kernels/base/isa.hpp"

namespace colonnade::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

#if defined(__x86_64__)
#define COLONNADE_CHAINS(clear, step, after)                                                                    \
  asm volatile(".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n" clear                                           \
               "\n.endr\n"                                                                                      \
               "1:\n.irp r,0,1,2,3,4,5,6,7,8,9,10,11\n" step                                                    \
               "\n.endr\n"                                                                                      \
               "dec %0\njnz 1b\n" after                                                                         \
               : "+r"(rounds)                                                                                   \
               :                                                                                                \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                 "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

/// Floating-point operations of one round of multiply_add_chains.
inline double flops_per_round(kernels::Isa isa) {
  switch (isa) {
    case kernels::Isa::amx:
    case kernels::Isa::bf16:
    case kernels::Isa::vnni:
    case kernels::Isa::avx512: return 12 * 32;
    case kernels::Isa::avxvnni:
    case kernels::Isa::avx2: return 12 * 16;
    case kernels::Isa::baseline: return 12 * 8;
  }
  return 0;
}

/// Twelve independent chains of the tier's multiply-add; without FMA, additions and multiplications by turns.
inline void multiply_add_chains(kernels::Isa isa, long rounds) {
  switch (isa) {
    case kernels::Isa::amx:
    case kernels::Isa::bf16:
    case kernels::Isa::vnni:
    case kernels::Isa::avx512:
      COLONNADE_CHAINS("vxorps %%xmm\\r,%%xmm\\r,%%xmm\\r", "vfmadd231ps %%zmm12,%%zmm13,%%zmm\\r", "vzeroupper\n");
      return;
    case kernels::Isa::avxvnni:
    case kernels::Isa::avx2:
      COLONNADE_CHAINS("vxorps %%xmm\\r,%%xmm\\r,%%xmm\\r", "vfmadd231ps %%ymm12,%%ymm13,%%ymm\\r", "vzeroupper\n");
      return;
    case kernels::Isa::baseline:
      COLONNADE_CHAINS("xorps %%xmm\\r,%%xmm\\r", "mulps %%xmm12,%%xmm\\r\naddps %%xmm13,%%xmm\\r", "");
      return;
  }
}

/// Operations on bytes of one round of byte_product_chains: products and sums.
inline double byte_operations_per_round(kernels::Isa isa) {
  switch (isa) {
    case kernels::Isa::amx:
    case kernels::Isa::bf16:
    case kernels::Isa::vnni: return 12 * 128;
    case kernels::Isa::avxvnni:
    case kernels::Isa::avx512: return 12 * 64;
    case kernels::Isa::avx2: return 12 * 32;
    case kernels::Isa::baseline: return 12 * 16;
  }
  return 0;
}

/// Twelve independent chains of what sums products of bytes exactly: of pairs of 16 bits where a tier has no more.
inline void byte_product_chains(kernels::Isa isa, long rounds) {
  switch (isa) {
    case kernels::Isa::amx:
    case kernels::Isa::bf16:
    case kernels::Isa::vnni:
      COLONNADE_CHAINS("vpxor %%xmm\\r,%%xmm\\r,%%xmm\\r", "vpdpbusd %%zmm12,%%zmm13,%%zmm\\r", "vzeroupper\n");
      return;
    case kernels::Isa::avx512:
      COLONNADE_CHAINS("vpxor %%xmm\\r,%%xmm\\r,%%xmm\\r",
                       "vpmaddwd %%zmm12,%%zmm13,%%zmm14\nvpaddd %%zmm14,%%zmm\\r,%%zmm\\r", "vzeroupper\n");
      return;
    case kernels::Isa::avxvnni:
      COLONNADE_CHAINS("vpxor %%xmm\\r,%%xmm\\r,%%xmm\\r", "%{vex%} vpdpbusd %%ymm12,%%ymm13,%%ymm\\r", "vzeroupper\n");
      return;
    case kernels::Isa::avx2:
      COLONNADE_CHAINS("vpxor %%xmm\\r,%%xmm\\r,%%xmm\\r",
                       "vpmaddwd %%ymm12,%%ymm13,%%ymm14\nvpaddd %%ymm14,%%ymm\\r,%%ymm\\r", "vzeroupper\n");
      return;
    case kernels::Isa::baseline:
      COLONNADE_CHAINS("pxor %%xmm\\r,%%xmm\\r",
                       "movdqa %%xmm12,%%xmm14\npmaddwd %%xmm13,%%xmm14\npaddd %%xmm14,%%xmm\\r", "");
      return;
  }
}

/// Twelve independent chains of dot products of pairs of bf16: four operations a lane.
inline void pair_product_chains(kernels::Isa, long rounds) {
  COLONNADE_CHAINS("vxorps %%xmm\\r,%%xmm\\r,%%xmm\\r", "vdpbf16ps %%zmm12,%%zmm13,%%zmm\\r", "vzeroupper\n");
}
#undef COLONNADE_CHAINS

/// Operations a second of one core in registers, in billions, best of several attempts.
inline double peak_of(void (*chains)(kernels::Isa, long), kernels::Isa isa, double operations_per_round) {
  constexpr long kRounds = 200000;
  double best = std::numeric_limits<double>::max();
  for (int attempt = 0; attempt < 8; ++attempt) {
    const Clock::time_point start = Clock::now();
    chains(isa, kRounds);
    best = std::min(best, seconds_since(start));
  }
  return operations_per_round * static_cast<double>(kRounds) / best * 1e-9;
}
inline double peak_gflops(kernels::Isa isa) { return peak_of(multiply_add_chains, isa, flops_per_round(isa)); }
inline double peak_pair_gflops(kernels::Isa isa) { return peak_of(pair_product_chains, isa, 12 * 64); }
inline double peak_byte_gops(kernels::Isa isa) {
  return peak_of(byte_product_chains, isa, byte_operations_per_round(isa));
}
#else
inline double peak_gflops(kernels::Isa) { return 0; }
inline double peak_pair_gflops(kernels::Isa) { return 0; }
inline double peak_byte_gops(kernels::Isa) { return 0; }
#endif

/// Times `body` once an iteration and reports its fastest one against a peak of the tier.
template <class Body>
void report_flops(benchmark::State& state, kernels::Isa isa, double flops, Body body,
                  double (*peak_of_tier)(kernels::Isa) = peak_gflops) {
  double best = std::numeric_limits<double>::max();
  body();
  for (auto _ : state) {
    const Clock::time_point start = Clock::now();
    body();
    best = std::min(best, seconds_since(start));
  }
  const double gflops = flops / best * 1e-9;
  const double peak = peak_of_tier(isa);
  state.counters["GFLOP/s"] = gflops;
  if (peak > 0) state.counters["peak%"] = 100 * gflops / peak;
}

/// Registers run(state, kernel, shape) as name(kernel, shape) for each shape and each kernel of a table that this host
/// runs. Tables and shapes outlive the benchmarks.
template <class Table, class Shapes, class Name, class Run>
void register_shapes(const Table& table, const Shapes& shapes, Name name, Run run) {
  for (const auto& kernel : table) {
    if (!kernels::host_features().contains(kernel.isa)) continue;
    for (const auto& shape : shapes) {
      const auto body = [&kernel, &shape, run](benchmark::State& state) { run(state, kernel, shape); };
      benchmark::RegisterBenchmark(std::string(name(kernel, shape)).c_str(), body);
    }
  }
}

/// Likewise run_shape(state, kernel, shape, from) with weights from caches and, of `far_shapes`, from memory.
template <class Table, class Shapes, class FarShapes, class Name, class Run>
bool register_near_and_far(const Table& table, const Shapes& shapes, const FarShapes& far_shapes, Name name, Run run) {
  const auto from = [run](From place) {
    return [run, place](benchmark::State& state, const auto& kernel, const auto& shape) {
      run(state, kernel, shape, place);
    };
  };
  register_shapes(table, shapes, name, from(From::caches));
  register_shapes(
      table, far_shapes, [name](const auto& kernel, const auto& shape) { return name(kernel, shape) + "/far"; },
      from(From::memory));
  return true;
}

}  // namespace colonnade::bench
