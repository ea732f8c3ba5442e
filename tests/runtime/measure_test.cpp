// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "kernels/peak/peak.hpp"

namespace colonnade {
namespace {

TEST(PeakKernels, ChainsReachTheirFixedPoint) {
  for (const kernels::peak::Kernel& kernel : kernels::peak::table()) {
    if (!kernels::host_features().contains(kernel.isa)) continue;
    const double chains = kernel.flop_per_round / 2;
    EXPECT_NEAR(kernel.multiply_add(200, 3.0f), 6.0 * chains, 1e-3 * chains) << kernel.name;
    const double lanes = chains / 12;
    EXPECT_NEAR(kernel.multiply_add(0, 1.0f), lanes * (12 + 66), 1e-3) << kernel.name;
  }
}

TEST(PeakKernels, SumReadsEveryFloatOnce) {
  for (const kernels::peak::Kernel& kernel : kernels::peak::table()) {
    if (!kernels::host_features().contains(kernel.isa)) continue;
    for (const std::size_t count : {0u, 1u, 3u, 4u, 7u, 15u, 16u, 17u, 127u, 128u, 129u, 1001u}) {
      std::vector<float> values(count);
      std::iota(values.begin(), values.end(), 1.0f);
      const auto n = static_cast<float>(count);
      EXPECT_EQ(kernel.sum(values.data(), count), n * (n + 1) / 2) << kernel.name << " of " << count;
    }
  }
}

TEST(PeakKernels, SelectTakesTheTier) {
  for (const kernels::Isa isa : kernels::kAllIsas) EXPECT_LE(kernels::peak::select(isa).isa, isa);
  EXPECT_EQ(kernels::peak::select(kernels::Isa::baseline).isa, kernels::Isa::baseline);
}

TEST(Measure, RatesArePlausible) {
  const double gflops = measure_fma_gflops(kernels::usable_features(), 1);
  EXPECT_GT(gflops, 0.1);
  EXPECT_LT(gflops, 2000);
  const double gbs = measure_read_gbs(16 << 10, 1);
  EXPECT_GT(gbs, 0.1);
  EXPECT_LT(gbs, 5000);
  RecordProperty("fma_gflops", std::to_string(gflops));
  RecordProperty("l1_gbs", std::to_string(gbs));
}

TEST(Measure, TwoThreadsRun) {
  EXPECT_GT(measure_fma_gflops(kernels::Isa::baseline, 2), 0.1);
  EXPECT_GT(measure_read_gbs(16 << 10, 2), 0.1);
}

TEST(Measure, RefusesNonsense) {
  EXPECT_THROW(measure_fma_gflops(kernels::Isa::baseline, 0), Error);
  EXPECT_THROW(measure_read_gbs(1 << 20, -1), Error);
  EXPECT_THROW(measure_read_gbs(0, 1), Error);
}

}  // namespace
}  // namespace colonnade
