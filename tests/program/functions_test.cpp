// SPDX-License-Identifier: Apache-2.0
// Every function with a kernel gives by it, on every tier, what the table says.
#include <gtest/gtest.h>

#include <cmath>

#include "families/lower.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace colonnade::test {
namespace {

/// Small numbers of both signs, zero among them; an odd count.
std::vector<float> arguments() {
  std::vector<float> values;
  for (int i = -333; i <= 333; ++i) values.push_back(static_cast<float>(i) / 32);
  return values;
}

TEST(Functions, KernelsGiveWhatTheTableSays) {
  const std::vector<float> x = arguments();
  std::vector<float> y(x.size());
  for (const auto& kernel : kernels::elementwise::table()) {
    if (!kernels::host_features().contains(kernel.isa)) continue;
    for (std::size_t i = 0; i < kFunctionCount; ++i) {
      const Unary function{static_cast<UnaryKind>(i), 0.25f, 1.5f};
      if (!has_kernel(function.kind)) continue;
      const auto width = static_cast<std::ptrdiff_t>(x.size());
      kernel.unary({unary_op(function), 1, x.size(), x.data(), y.data(), width, width});
      for (std::size_t j = 0; j < x.size(); ++j) {
        const double expected = function_of(function.kind).value(static_cast<double>(x[j]), 0.25, 1.5);
        if (std::isfinite(expected))
          ASSERT_NEAR(y[j], expected, 1e-5 * std::abs(expected) + 5e-6) << name_of(function.kind) << " of " << x[j];
        else
          ASSERT_EQ(std::isnan(y[j]), std::isnan(expected)) << name_of(function.kind) << " of " << x[j];
      }
    }
  }
}

}  // namespace
}  // namespace colonnade::test
