// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise/elementwise.hpp"

#include "kernels_rows/support.hpp"

namespace colonnade::kernels::test {
namespace {

using elementwise::Binary;

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kTwoSqrtTwoOverPi = 1.5957691216057307117;

/// The function in double, at its limit where the formula has none.
double exact(const UnaryOp& op, double x, float slope) {
  const double a = op.a, b = op.b;
  const bool vanishes = x == -std::numeric_limits<double>::infinity();
  switch (op.kind) {
    case Unary::identity: return x;
    case Unary::relu: return x < 0 ? 0 : x;
    case Unary::clip: return x < a ? a : x > b ? b : x;
    case Unary::leaky_relu: return x < 0 ? a * x : x;
    case Unary::prelu: return x < 0 ? slope * x : x;
    case Unary::sigmoid: return 1 / (1 + std::exp(-x));
    case Unary::hard_sigmoid: return std::isnan(x) ? x : std::min(std::max(a * x + b, 0.0), 1.0);
    case Unary::hard_swish: return vanishes ? x * 0 : std::isnan(x) ? x : x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
    case Unary::silu: return vanishes ? 0 : x / (1 + std::exp(-x));
    case Unary::tanh: return std::tanh(x);
    case Unary::gelu_erf: return vanishes ? 0 : x * std::erfc(-x * kSqrtHalf) / 2;
    case Unary::gelu_tanh: {
      const double u = kTwoSqrtTwoOverPi * (x + 0.044715 * x * x * x);
      return u < -700 ? 0 : x / (1 + std::exp(-u));
    }
    case Unary::elu: return x < 0 ? a * std::expm1(x) : x;
    case Unary::selu: return b * (x < 0 ? a * std::expm1(x) : x);
    case Unary::softplus: return x > 40 ? x : std::log1p(std::exp(x));
    case Unary::softsign: return x / (1 + std::fabs(x));
    case Unary::mish: return vanishes ? 0 : x > 40 ? x : x * std::tanh(std::log1p(std::exp(x)));
    case Unary::exp: return std::exp(x);
    case Unary::log: return std::log(x);
    case Unary::erf: return std::erf(x);
    case Unary::sqrt: return std::sqrt(x);
    case Unary::reciprocal: return 1 / x;
    case Unary::abs: return std::fabs(x);
    case Unary::neg: return -x;
    case Unary::square: return x * x;
    case Unary::floor: return std::floor(x);
    case Unary::ceil: return std::ceil(x);
    case Unary::round: return std::nearbyint(x);
    case Unary::affine: return a * x + b;
    case Unary::steps: return a * std::min(std::max(std::nearbyint(x / a), b), b + 65535);
  }
  return 0;
}

/// Units in the last place of the result that a function may be off, and an absolute part where terms cancel.
struct Tolerance {
  double units;
  double absolute = 0;
};

Tolerance tolerance(const UnaryOp& op, double x) {
  const double rounding = 6e-8;
  switch (op.kind) {
    case Unary::hard_sigmoid:
    case Unary::affine: return {1, 2 * rounding * (std::fabs(op.a * x) + std::fabs(op.b))};
    case Unary::steps: {  // either of two that are equally near
      const double a = static_cast<double>(op.a), steps = x / a;
      return {2, std::fabs(steps - std::floor(steps) - 0.5) < rounding * std::fabs(steps) ? 1.001 * a : 0};
    }
    case Unary::hard_swish: return {2, std::fabs(x) < 4 ? 2 * rounding * std::fabs(x) : 0};
    case Unary::sigmoid: return {4, 0x1p-125};
    case Unary::silu: return {4, 0x1p-118};
    case Unary::tanh: return {6};
    case Unary::elu:
    case Unary::selu:
    case Unary::softplus:
    case Unary::mish:
    case Unary::exp:
    case Unary::log:
    case Unary::erf: return {4};
    case Unary::gelu_erf: return {4, 0x1p-22 * std::min(8.0, std::fabs(x))};
    case Unary::gelu_tanh:
      return {4 + std::min(300.0, 3 * std::fabs(kTwoSqrtTwoOverPi * (x + 0.044715 * x * x * x))), 0x1p-118};
    case Unary::softsign: return {2};
    default: return {0.501};
  }
}

UnaryOp op_of(int kind) {
  const auto unary = static_cast<Unary>(kind);
  const bool clips = unary == Unary::clip;
  const bool selu = unary == Unary::selu;
  return {unary, clips ? -0.5f : selu ? 1.6732632f : 0.3f, clips ? 1.5f : selu ? 1.0507010f : 0.4f};
}

::testing::AssertionResult close(const UnaryOp& op, float x, float slope, float got) {
  const double want = exact(op, x, slope);
  const Tolerance allowed = tolerance(op, x);
  const double off = ulps(got, want);
  if (off <= allowed.units || std::fabs(got - want) <= allowed.absolute) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "unary " << static_cast<int>(op.kind) << " of " << x << " is " << got
                                       << ", not " << want << ": off by " << off << " units";
}

/// Bit patterns from all over the floats, small ordinary numbers, and the special ones.
std::vector<float> arguments() {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1e-45f,
                               -1e-45f,
                               1.17549435e-38f,
                               3.4028235e38f,
                               -3.4028235e38f,
                               88.72283f,
                               88.73f,
                               -87.4f,
                               -103.9f,
                               -104.1f,
                               1,
                               -1,
                               0.5f,
                               2.5f,
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::quiet_NaN()};
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += 390001) {
    const auto word = static_cast<std::uint32_t>(bits);
    float x;
    std::memcpy(&x, &word, sizeof x);
    values.push_back(x);
  }
  for (const float x : random_floats(12000, 3, -12, 12)) values.push_back(x);
  for (const float x : random_floats(4000, 4, -110, 100)) values.push_back(x);
  return values;
}

TEST(Unary, AccuracyOverAllFloats) {
  const std::vector<float> values = arguments();
  for (const auto& kernel : runnable(elementwise::table())) {
    for (int kind = 0; kind < kUnaryCount; ++kind) {
      Guarded in(values, Edge::back);
      Guarded out(values.size());
      const std::vector<float> slopes(values.size(), -0.7f);
      UnaryOp op = op_of(kind);
      if (op.kind == Unary::prelu) op.slope = slopes.data();
      const auto width = static_cast<std::ptrdiff_t>(values.size());
      kernel.unary({op, 1, values.size(), in.data(), out.data(), width, width});
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_TRUE(close(op, values[i], -0.7f, out.data()[i])) << kernel.name;
      }
      ASSERT_TRUE(out.intact());
    }
  }
}

TEST(Unary, StridesTailsSlopesAndInPlace) {
  for (const auto& kernel : runnable(elementwise::table())) {
    for (int kind = 0; kind < kUnaryCount; ++kind) {
      for (const std::size_t channels : kChannelCounts) {
        for (const std::size_t gap : {0u, 3u}) {
          const std::size_t stride = channels + gap;
          const std::size_t pixels = 3;
          const auto values = random_floats((pixels - 1) * stride + channels, 9, -3, 3);
          Guarded in(values, gap ? Edge::front : Edge::back);
          Guarded out(values.size());
          Guarded same(values, Edge::back);
          Guarded slopes(random_floats(channels, 10), Edge::back);
          UnaryOp op = op_of(kind);
          if (op.kind == Unary::prelu) op.slope = slopes.data();
          const auto step = static_cast<std::ptrdiff_t>(stride);
          kernel.unary({op, pixels, channels, in.data(), out.data(), step, step});
          kernel.unary({op, pixels, channels, same.data(), same.data(), step, step});
          for (std::size_t i = 0; i < values.size(); ++i) {
            const std::size_t c = i % stride;
            if (c >= channels) {
              ASSERT_TRUE(std::isnan(out.data()[i]) && same.data()[i] == values[i]) << "wrote between pixels";
              continue;
            }
            ASSERT_TRUE(close(op, values[i], slopes.data()[c], out.data()[i]))
                << kernel.name << " channels " << channels;
            ASSERT_EQ(0, std::memcmp(&out.data()[i], &same.data()[i], sizeof(float))) << kernel.name;
          }
          ASSERT_TRUE(out.intact() && same.intact());
        }
      }
    }
  }
}

double exact(Binary op, double a, double b) {
  switch (op) {
    case Binary::add: return a + b;
    case Binary::sub: return a - b;
    case Binary::mul: return a * b;
    case Binary::div: return a / b;
    case Binary::min: return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
    case Binary::max: return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
    case Binary::pow: return std::pow(a, b);
    case Binary::prelu: return a < 0 ? a * b : a;
    case Binary::squared_difference: return (a - b) * (a - b);
  }
  return 0;
}

struct Operand {
  std::ptrdiff_t pixel_stride;
  std::ptrdiff_t channel_stride;
  std::size_t floats(std::size_t pixels, std::size_t channels) const {
    return (pixels - 1) * static_cast<std::size_t>(pixel_stride) +
           (channels - 1) * static_cast<std::size_t>(channel_stride) + 1;
  }
  std::size_t at(std::size_t p, std::size_t c) const {
    return p * static_cast<std::size_t>(pixel_stride) + c * static_cast<std::size_t>(channel_stride);
  }
};

void run_binary(Binary op, Unary activation, std::size_t channels, const Operand& left, const Operand& right,
                std::size_t out_gap) {
  const std::size_t pixels = 4;
  const float low = op == Binary::pow ? 0.1f : -2.0f;
  for (const auto& kernel : runnable(elementwise::table())) {
    Guarded a(random_floats(left.floats(pixels, channels), 1, low, 2), Edge::back);
    Guarded b(random_floats(right.floats(pixels, channels), 2, -2, 2), Edge::front);
    const std::size_t step = channels + out_gap;
    Guarded out((pixels - 1) * step + channels);
    elementwise::BinaryArgs args{op,
                                 {activation, 0, 0},
                                 pixels,
                                 channels,
                                 a.data(),
                                 b.data(),
                                 out.data(),
                                 left.pixel_stride,
                                 left.channel_stride,
                                 right.pixel_stride,
                                 right.channel_stride,
                                 static_cast<std::ptrdiff_t>(step)};
    kernel.binary(args);
    for (std::size_t p = 0; p < pixels; ++p) {
      for (std::size_t c = 0; c < channels; ++c) {
        const double middle = exact(op, a.data()[left.at(p, c)], b.data()[right.at(p, c)]);
        const double want = exact(UnaryOp{activation, 0, 0}, middle, 0);
        ASSERT_LE(ulps(out.data()[p * step + c], want), activation == Unary::identity ? 2 : 8)
            << kernel.name << " op " << static_cast<int>(op) << " channels " << channels;
      }
    }
    ASSERT_TRUE(out.intact());
  }
}

TEST(Binary, EveryOperationAndBroadcast) {
  for (int op = 0; op < elementwise::kBinaryCount; ++op) {
    for (const std::size_t channels : kChannelCounts) {
      const auto width = static_cast<std::ptrdiff_t>(channels);
      const Operand forms[] = {{width, 1}, {width + 3, 1}, {0, 1}, {0, 0}, {2, 0}};
      for (const Operand& left : forms) {
        for (const Operand& right : forms)
          run_binary(static_cast<Binary>(op), Unary::identity, channels, left, right, 0);
      }
      run_binary(static_cast<Binary>(op), Unary::relu, channels, forms[0], forms[1], 2);
      run_binary(static_cast<Binary>(op), Unary::tanh, channels, forms[0], forms[2], 0);
    }
  }
}

TEST(Binary, InPlaceAndEmpty) {
  for (const auto& kernel : runnable(elementwise::table())) {
    const auto left = random_floats(5 * 19, 1);
    const auto right = random_floats(5 * 19, 2);
    Guarded a(left, Edge::back);
    Guarded b(right, Edge::back);
    kernel.binary({Binary::sub, {}, 5, 19, a.data(), b.data(), b.data(), 19, 1, 19, 1, 19});
    for (std::size_t i = 0; i < left.size(); ++i) ASSERT_EQ(b.data()[i], left[i] - right[i]) << kernel.name;
    kernel.binary({Binary::sub, {}, 0, 19, nullptr, nullptr, nullptr, 19, 1, 0, 0, 19});
    kernel.unary({{Unary::exp, 0, 0, nullptr}, 0, 19, nullptr, nullptr, 19, 19});
  }
}

TEST(Binary, PowersWithOneExponent) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> bases = {0.0f, -0.0f, 1, -1, 2.5f,   -3.5f, 1e-30f, 1e30f, inf,
                                    -inf, 0.3f,  7, 11, 1e-41f, 5,     6,      8};
  for (const auto& kernel : runnable(elementwise::table())) {
    for (const float exponent : {2.0f, 3.0f, 0.5f, -1.0f, 0.0f, 1.7f}) {
      Guarded a(bases, Edge::back);
      Guarded out(bases.size());
      kernel.binary({Binary::pow, {}, bases.size(), 1, a.data(), &exponent, out.data(), 1, 1, 0, 0, 1});
      for (std::size_t i = 0; i < bases.size(); ++i) {
        ASSERT_LE(ulps(out.data()[i], std::pow(static_cast<double>(bases[i]), exponent)), 1.6)
            << kernel.name << " " << bases[i] << " to the " << exponent;
      }
    }
  }
}

/// Every base to every exponent, those beside each other in a vector too.
TEST(Binary, PowersOfAnyNumbers) {
  const float inf = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> numbers = {0.0f,     -0.0f, 1,      -1,     2,      -2,         3,
                                      -3,       0.5f,  -0.5f,  2.5f,   -2.5f,  inf,        -inf,
                                      none,     1e30f, -1e30f, 1e-30f, 1e-41f, 16777215,   16777216,
                                      33554432, 127,   -127,   0.1f,   88.7f,  1.0000001f, 0.9999999f};
  std::vector<float> bases, exponents;
  for (const float base : numbers)
    for (const float exponent : numbers) bases.push_back(base), exponents.push_back(exponent);
  for (const auto& kernel : runnable(elementwise::table())) {
    Guarded a(bases, Edge::back), b(exponents, Edge::front);
    Guarded out(bases.size());
    kernel.binary({Binary::pow,
                   {},
                   1,
                   bases.size(),
                   a.data(),
                   b.data(),
                   out.data(),
                   0,
                   1,
                   0,
                   1,
                   static_cast<std::ptrdiff_t>(bases.size())});
    for (std::size_t i = 0; i < bases.size(); ++i) {
      const float expected = std::pow(bases[i], exponents[i]);
      EXPECT_EQ(std::isnan(out.data()[i]), std::isnan(expected))
          << kernel.name << " " << bases[i] << " " << exponents[i];
      if (std::isnan(expected)) continue;
      EXPECT_LE(ulps(out.data()[i], std::pow(static_cast<double>(bases[i]), exponents[i])), 0.6)
          << kernel.name << " " << bases[i] << " to the " << exponents[i];
      EXPECT_EQ(std::signbit(out.data()[i]), std::signbit(expected))
          << kernel.name << " " << bases[i] << " to the " << exponents[i];
    }
  }
}

}  // namespace
}  // namespace colonnade::kernels::test
