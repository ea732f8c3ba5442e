// SPDX-License-Identifier: Apache-2.0
// Functions that rows alone are mapped by: how exact they are over all floats, strides and tails.
#include <cmath>
#include <cstring>

#include "kernels/elementwise/elementwise.hpp"
#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

using colonnade::test::Guarded;
using elementwise::Function;

constexpr double kA = 0.3f, kB = 0.4f;

double exact(Function function, double x) {
  switch (function) {
    case Function::celu: return x < 0 ? kA * std::expm1(x / kA) : x;
    case Function::thresholded_relu: return x > kA ? x : 0;
    case Function::sign: return x > 0 ? 1 : x < 0 ? -1 : x;
    case Function::sin: return std::sin(x);
    case Function::cos: return std::cos(x);
    case Function::tan: return std::tan(x);
    case Function::asin: return std::asin(x);
    case Function::acos: return std::acos(x);
    case Function::atan: return std::atan(x);
    case Function::sinh: return std::sinh(x);
    case Function::cosh: return std::cosh(x);
    case Function::asinh: return std::asinh(x);
    case Function::acosh: return std::acosh(x);
    case Function::atanh: return std::atanh(x);
  }
  return 0;
}

double allowed(Function function, double want) {
  if (function == Function::tan) return 0x1p-23 * (1 + want * want);
  return function == Function::sin || function == Function::cos ? 0x1p-23 : 0;
}

::testing::AssertionResult close(Function function, float x, float got) {
  const double want = exact(function, x), off = ulps(got, want);
  if (off <= 8 || std::fabs(got - want) <= allowed(function, want)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << elementwise::kFunctionNames[static_cast<int>(function)] << " of " << x
                                       << " is " << got << ", not " << want << ": off by " << off << " units";
}

/// Bit patterns from all over the floats, small ordinary numbers, and the special ones.
std::vector<float> arguments() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {0.0f,  -0.0f,     1e-45f,     1.17549435e-38f, 3.4028235e38f, 1,       -1,      0.5f,
                               -0.5f, 0.3f,      88.73f,     89.4f,           -89.4f,        8192.0f, 8193.0f, 1e9f,
                               1e10f, kInfinity, -kInfinity, std::nanf("")};
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += 390001) {
    const auto word = static_cast<std::uint32_t>(bits);
    float x;
    std::memcpy(&x, &word, sizeof x);
    values.push_back(x);
  }
  for (const float x : random_floats(12000, 3, -12, 12)) values.push_back(x);
  for (const float x : random_floats(4000, 4, -1, 1)) values.push_back(x);
  for (const float x : random_floats(4000, 5, -9000, 9000)) values.push_back(x);
  return values;
}

elementwise::FunctionArgs args_of(int function, std::size_t pixels, std::size_t channels, const float* in, float* out,
                                  std::size_t stride) {
  const auto step = static_cast<std::ptrdiff_t>(stride);
  return {static_cast<Function>(function), kA, kB, pixels, channels, in, out, step, step};
}

TEST(RowFunction, AccuracyOverAllFloats) {
  const std::vector<float> values = arguments();
  for (const auto& kernel : runnable(elementwise::table()))
    for (int function = 0; function < elementwise::kRowFunctionCount; ++function) {
      const Guarded<float> in(values, Edge::back), out(values.size());
      kernel.function(args_of(function, 1, values.size(), in.data(), out.data(), values.size()));
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_TRUE(close(static_cast<Function>(function), values[i], out.data()[i])) << kernel.name;
      ASSERT_TRUE(out.intact());
    }
}

/// What a lane gives does not depend on its neighbours, however rows are cut.
TEST(RowFunction, StridesTailsAndInPlaceGiveTheSameBits) {
  for (const auto& kernel : runnable(elementwise::table()))
    for (int function = 0; function < elementwise::kRowFunctionCount; ++function)
      for (const std::size_t channels : {1u, 3u, 4u, 7u, 8u, 15u, 16u, 17u, 33u, 67u}) {
        constexpr std::size_t kPixels = 3;
        const std::size_t stride = channels + 2, count = (kPixels - 1) * stride + channels;
        std::vector<float> values = random_floats(count, 9, -3, 3);
        values[0] = 1e8f;
        const Guarded<float> in(values, Edge::back), out(count), same(values, Edge::back);
        kernel.function(args_of(function, kPixels, channels, in.data(), out.data(), stride));
        kernel.function(args_of(function, kPixels, channels, same.data(), same.data(), stride));
        for (std::size_t i = 0; i < count; ++i) {
          if (i % stride >= channels) {
            ASSERT_EQ(same.data()[i], values[i]) << "wrote between pixels";
            continue;
          }
          float alone = 0;
          kernel.function(args_of(function, 1, 1, &values[i], &alone, 1));
          ASSERT_EQ(std::memcmp(&out.data()[i], &alone, sizeof alone), 0) << kernel.name << " of " << values[i];
          ASSERT_EQ(std::memcmp(&same.data()[i], &alone, sizeof alone), 0) << kernel.name << " of " << values[i];
        }
        ASSERT_TRUE(out.intact() && same.intact() && in.intact());
      }
}

}  // namespace
}  // namespace colonnade::kernels::test
