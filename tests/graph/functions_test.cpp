// SPDX-License-Identifier: Apache-2.0
// What the table of functions claims is true of the values it gives.
#include "graph/functions.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace colonnade::test {
namespace {

/// Whether the values between -30 and 30 never fall, and a NaN stays one.
bool never_falls(const UnaryFunction& function, double a, double b) {
  double last = -std::numeric_limits<double>::infinity();
  for (double x = -30; x <= 30; x += 0.0625) {
    const double value = function.value(x, a, b);
    if (!(value >= last)) return false;
    last = value;
  }
  return std::isnan(function.value(std::numeric_limits<double>::quiet_NaN(), a, b));
}

TEST(Functions, MonotoneOnesNeverFall) {
  for (const UnaryFunction& function : functions::kTable) {
    if (function.monotone == Monotone::no) {
      EXPECT_FALSE(never_falls(function, 1, 1)) << function.name;
      continue;
    }
    for (const double a : {0.0, 0.25, 2.0})
      for (const double b : {0.0, 0.5, 3.0}) EXPECT_TRUE(never_falls(function, a, b)) << function.name << a << "," << b;
    EXPECT_TRUE(function.monotone == Monotone::by_parameters || never_falls(function, -2, -1)) << function.name;
  }
}

TEST(Functions, ParametersAndOnnxNames) {
  for (const UnaryFunction& function : functions::kTable) {
    const auto& [a, b] = function.parameters;
    EXPECT_FALSE(a.name.empty() && !b.name.empty()) << function.name;
    if (a.name.empty())
      EXPECT_EQ(a.fallback, 0) << function.name;
    else
      EXPECT_FALSE(function.onnx_name.empty()) << function.name;
    EXPECT_TRUE(function.onnx_since == 0 || !function.onnx_name.empty()) << function.name;
  }
  EXPECT_EQ(find_function("Softplus"), UnaryKind::softplus);
  EXPECT_EQ(find_function("IsNaN"), UnaryKind::is_nan);
  EXPECT_EQ(find_function(""), std::nullopt);
  EXPECT_EQ(find_function("Conv"), std::nullopt);
}

}  // namespace
}  // namespace colonnade::test
