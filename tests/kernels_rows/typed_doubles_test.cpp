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

}  // namespace
}  // namespace colonnade::kernels::test
