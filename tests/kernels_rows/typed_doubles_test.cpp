// SPDX-License-Identifier: Apache-2.0
// Functions of doubles beside libm's in long double.
#include <cmath>

#include "kernels_rows/typed.hpp"

namespace colonnade::kernels::test {
namespace {

using typed::Unary;

long double exact(Unary op, long double x) {
  switch (op) {
    case Unary::exp: return std::exp(x);
    case Unary::sigmoid: return 1 / (1 + std::exp(-x));
    case Unary::tanh: return std::tanh(x);
    case Unary::log: return std::log(x);
    case Unary::erf: return std::erf(x);
    case Unary::sin: return std::sin(x);
    default: return std::cos(x);
  }
}

std::vector<double> arguments() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> values = {0.0,    -0.0, 1e-310, 1e-300, 1e-20, 1,    -1,        709.7,      710.5,
                                -745.1, -747, 22,     -22,    1e30,  -1e9, kInfinity, -kInfinity, std::nan("")};
  std::mt19937 random(1);
  for (const double range : {0.01, 1.0, 10.0, 740.0}) {
    std::uniform_real_distribution<double> uniform(-range, range);
    for (int i = 0; i < 5000; ++i) values.push_back(uniform(random));
  }
  return values;
}

bool close(double got, long double want) {
  const auto nearest = static_cast<double>(want);
  if (std::isnan(nearest)) return std::isnan(got);
  if (got == nearest) return true;
  const double least = 4 * 0x1p-1074;
  return std::fabs(static_cast<long double>(got) - want) <= std::max<long double>(least, 0x1p-50L * std::fabs(want));
}

TEST(Typed, DoublesAreExactToFourUnits) {
  const std::vector<double> in = arguments();
  for (const auto& kernel : runnable(typed::table()))
    for (int i = static_cast<int>(Unary::exp); i <= static_cast<int>(Unary::cos); ++i) {
      const auto op = static_cast<Unary>(i);
      std::vector<double> out(in.size());
      ASSERT_EQ(kernel.unary(op, Type::f32), nullptr);
      kernel.unary(op, Type::f64)({{in.data()}, {1}, out.data(), in.size()});
      for (std::size_t k = 0; k < in.size(); ++k) {
        if (op == Unary::sigmoid && in[k] < -700) continue;  // 0 where the true value is below 1e-304
        ASSERT_TRUE(close(out[k], exact(op, in[k])))
            << kernel.name << " unary " << i << " of " << in[k] << " is " << out[k] << ", not " << exact(op, in[k]);
      }
    }
}

void check_softmax(const typed::Kernel& kernel, std::size_t lines, std::size_t size, bool log, bool in_place) {
  std::vector<double> in(lines * size), out(lines * size);
  std::mt19937 random(2);
  std::uniform_real_distribution<double> uniform(-800, 40);
  for (double& x : in) x = uniform(random);
  if (in_place) out = in;
  kernel.softmax({in_place ? out.data() : in.data(), out.data(), lines, size, log});
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double* line = in.data() + i / size * size;
    long double sum = 0;
    for (std::size_t k = 0; k < size; ++k) sum += std::exp(static_cast<long double>(line[k]) - line[i % size]);
    const long double want = log ? -std::log(sum) : 1 / sum;
    ASSERT_NEAR(out[i], static_cast<double>(want), 0x1p-48 * std::max(1.0, std::fabs(static_cast<double>(want))))
        << kernel.name << " " << lines << " of " << size << " at " << i;
  }
}

TEST(Typed, SoftmaxOfDoubles) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const auto& kernel : runnable(typed::table())) {
    for (const std::size_t size : {1u, 2u, 7u, 8u, 9u, 67u})
      for (const bool log : {false, true})
        for (const bool in_place : {false, true}) check_softmax(kernel, 3, size, log, in_place);
    for (const double odd : {kInfinity, std::nan("")})
      for (const std::size_t at : {0u, 9u, 18u}) {
        std::vector<double> x(19, 1.0);
        x[at] = odd;
        kernel.softmax({x.data(), x.data(), 1, x.size(), false});
        EXPECT_TRUE(std::isnan(x[at])) << kernel.name << " " << odd << " at " << at;
      }
    std::vector<double> barred = {-kInfinity, 3, -kInfinity};
    kernel.softmax({barred.data(), barred.data(), 1, barred.size(), false});
    EXPECT_EQ(barred, (std::vector<double>{0, 1, 0})) << kernel.name;
  }
}

}  // namespace
}  // namespace colonnade::kernels::test
