// SPDX-License-Identifier: Apache-2.0
// Every row of the tables of the fourier and elimination kernels, by the operations of the textbook: 5 n log2 n of a
// transform, 2 n^3 / 3 of a determinant, 8 n^3 / 3 of an inverse.
#include <cmath>
#include <numbers>
#include <string>

#include "bench/buffers.hpp"
#include "bench/rows.hpp"
#include "kernels/elimination/elimination.hpp"
#include "kernels/fourier/fourier.hpp"

namespace colonnade::bench {
namespace {

void count_operations(benchmark::State& state, double operations) {
  state.counters["GFLOP/s"] = benchmark::Counter(1e-9 * operations, benchmark::Counter::kIsIterationInvariantRate);
}

/// As many complex signals as the kernel has lanes.
void run_fourier(benchmark::State& state, const kernels::fourier::Kernel& kernel, std::size_t length) {
  std::vector<float> roots;
  for (std::size_t k = 0; k < length; ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
    roots.push_back(static_cast<float>(std::cos(angle)));
    roots.push_back(static_cast<float>(std::sin(angle)));
  }
  kernels::fourier::Plan plan;
  kernels::fourier::plan_length(length, plan);
  plan.roots = roots.data();
  const Floats signals(2 * length * kernel.lanes), results(2 * length * kernel.lanes),
      work(kernels::fourier::kWorkFloats * length * kernel.lanes);
  std::vector<const float*> in;
  std::vector<float*> out;
  for (std::size_t lane = 0; lane < kernel.lanes; ++lane) {
    in.push_back(signals.data() + 2 * length * lane);
    out.push_back(results.data() + 2 * length * lane);
  }
  kernels::fourier::Args args;
  args.plan = &plan;
  args.in = in.data();
  args.out = out.data();
  args.count = kernel.lanes;
  args.length = args.taken = args.out_count = length;
  args.in_step = 2;
  args.in_parts = 2;
  args.work = work.data();
  for (auto _ : state) kernel.transform(args);
  count_operations(state, 5 * static_cast<double>(length * kernel.lanes) * std::log2(static_cast<double>(length)));
}

/// A matrix that is made anew for each run; `width` doubles a row.
template <class Run>
void run_elimination(benchmark::State& state, std::size_t n, std::size_t width, double operations, Run run) {
  std::minstd_rand random(1);
  std::vector<double> given(n * width), rows(n * width);
  for (double& x : given) x = static_cast<double>(random()) / 0x1p31 - 0.5;
  for (auto _ : state) {
    rows = given;
    benchmark::DoNotOptimize(run(kernels::elimination::Args{rows.data(), n, width}));
  }
  count_operations(state, operations);
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const auto& kernel : kernels::fourier::table())
    for (const std::size_t length : {400u, 512u, 1001u})
      add("fourier/" + std::to_string(length), kernel,
          [=](benchmark::State& state) { run_fourier(state, kernel, length); });
  for (const auto& kernel : kernels::elimination::table())
    for (const std::size_t n : {4u, 64u, 128u}) {
      const auto cube = static_cast<double>(n * n * n);
      add("elimination/determinant/" + std::to_string(n), kernel,
          [=](benchmark::State& state) { run_elimination(state, n, n, 2 * cube / 3, kernel.determinant); });
      add("elimination/inverse/" + std::to_string(n), kernel,
          [=](benchmark::State& state) { run_elimination(state, n, 2 * n, 8 * cube / 3, kernel.solve); });
    }
  return true;
}();

}  // namespace
}  // namespace colonnade::bench
