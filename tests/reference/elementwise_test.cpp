// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "reference/support.hpp"

namespace colonnade::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct UnaryCase {
  Unary unary;
  double x, y;
};

TEST(Unary, ValuesByFormula) {
  const UnaryCase cases[] = {{{UnaryKind::identity}, -2, -2},
                             {{UnaryKind::relu}, -2, 0},
                             {{UnaryKind::relu}, 3, 3},
                             {{UnaryKind::clip, -1, 6}, 7, 6},
                             {{UnaryKind::clip, -1, 6}, -3, -1},
                             {{UnaryKind::clip, 2, 1}, 5, 1},
                             {{UnaryKind::leaky_relu, 0.1f}, -2, -0.2},
                             {{UnaryKind::sigmoid}, 0.7, 0.66818777},
                             {{UnaryKind::sigmoid}, -800, 0},
                             {{UnaryKind::hard_sigmoid, 0.2f, 0.5f}, 1, 0.7},
                             {{UnaryKind::hard_sigmoid, 0.2f, 0.5f}, 9, 1},
                             {{UnaryKind::hard_swish}, 1, 2.0 / 3},
                             {{UnaryKind::hard_swish}, -4, 0},
                             {{UnaryKind::silu}, 0.7, 0.46773144},
                             {{UnaryKind::tanh}, 0.5, 0.46211716},
                             {{UnaryKind::gelu_erf}, 1, 0.84134475},
                             {{UnaryKind::gelu_tanh}, 1, 0.84119199},
                             {{UnaryKind::elu, 2}, -1, -1.26424112},
                             {{UnaryKind::selu, 1.67326319f, 1.05070102f}, -1, -1.11133074},
                             {{UnaryKind::selu, 1.67326319f, 1.05070102f}, 2, 2.10140204},
                             {{UnaryKind::celu, 2}, -1, -0.78693868},
                             {{UnaryKind::thresholded_relu, 1.5f}, 1.5, 0},
                             {{UnaryKind::thresholded_relu, 1.5f}, 1.6, 1.6},
                             {{UnaryKind::softplus}, 1, 1.31326169},
                             {{UnaryKind::softplus}, 1000, 1000},
                             {{UnaryKind::softsign}, -3, -0.75},
                             {{UnaryKind::mish}, 1, 0.86509839},
                             {{UnaryKind::exp}, 1, 2.71828183},
                             {{UnaryKind::log}, 2, 0.69314718},
                             {{UnaryKind::erf}, 0.5, 0.52049988},
                             {{UnaryKind::sqrt}, 2, 1.41421356},
                             {{UnaryKind::reciprocal}, 4, 0.25},
                             {{UnaryKind::abs}, -4, 4},
                             {{UnaryKind::neg}, 4, -4},
                             {{UnaryKind::sign}, -4, -1},
                             {{UnaryKind::square}, -3, 9},
                             {{UnaryKind::floor}, -1.5, -2},
                             {{UnaryKind::ceil}, -1.5, -1},
                             {{UnaryKind::round}, 2.5, 2},
                             {{UnaryKind::round}, 3.5, 4},
                             {{UnaryKind::sin}, 1, 0.84147098},
                             {{UnaryKind::cos}, 1, 0.54030231},
                             {{UnaryKind::tan}, 1, 1.55740772},
                             {{UnaryKind::asin}, 0.5, 0.52359878},
                             {{UnaryKind::acos}, 0.5, 1.04719755},
                             {{UnaryKind::atan}, 1, 0.78539816},
                             {{UnaryKind::sinh}, 1, 1.17520119},
                             {{UnaryKind::cosh}, 1, 1.54308063},
                             {{UnaryKind::asinh}, 1, 0.88137359},
                             {{UnaryKind::acosh}, 2, 1.31695790},
                             {{UnaryKind::atanh}, 0.5, 0.54930614}};
  for (const UnaryCase& c : cases) {
    expect_near(run(c.unary, f32({1}, {c.x})), {1}, {c.y}, 2e-7 * std::max(1.0, std::abs(c.y)));
  }
}

TEST(Unary, TruthValuesAndIntegers) {
  expect_near(run(Unary{UnaryKind::logical_not}, booleans({2}, {0, 1})), {2}, {1, 0});
  const Tensor nan = run(Unary{UnaryKind::is_nan}, f32({2}, {NAN, 1}));
  EXPECT_EQ(nan.dtype(), DType::boolean);
  expect_near(nan, {2}, {1, 0});
  expect_near(run(Unary{UnaryKind::bitwise_not}, tensor(DType::u8, {2}, {0, 5})), {2}, {255, 250});
  expect_near(run(Unary{UnaryKind::abs}, tensor(DType::i8, {2}, {-128, -3})), {2}, {-128, 3});
  expect_near(run(Unary{UnaryKind::clip, -1000, 5}, tensor(DType::i8, {3}, {-128, 3, 100})), {3}, {-128, 3, 5});
  expect_near(run(Unary{UnaryKind::clip, -float(kInf), float(kInf)}, i64({1}, {7})), {1}, {7});
  EXPECT_TRUE(std::isnan(numbers(run(Unary{UnaryKind::relu}, f32({1}, {NAN})))[0]));
  expect_error(ErrorCode::unsupported, Unary{UnaryKind::exp}, {&static_cast<const Tensor&>(ints({1}))});
}

TEST(Unary, HalfRoundsOnce) {
  // 1 + 2^-11 + 2^-40 lies above the tie between two halves; by way of float it would fall on the tie.
  const Tensor x = tensor(DType::f64, {1}, {1 + std::ldexp(1, -11) + std::ldexp(1, -40)});
  expect_near(run(Cast{DType::f16}, x), {1}, {1 + std::ldexp(1, -10)}, 0);
  expect_near(run(Cast{DType::bf16}, tensor(DType::f64, {1}, {1 + std::ldexp(1, -8)})), {1}, {1}, 0);
  expect_near(run(Cast{DType::f16}, f32({2}, {65520, 1e-8})), {2}, {kInf, 0}, 0);
}

TEST(Binary, BroadcastsBothWays) {
  const Tensor sum = run(Binary{BinaryKind::add}, f32({2, 1}, {1, 2}), f32({3}, {10, 20, 30}));
  expect_near(sum, {2, 3}, {11, 21, 31, 12, 22, 32}, 0);
  expect_near(run(Binary{BinaryKind::sub}, f32({}, {1}), f32({2}, {3, 5})), {2}, {-2, -4}, 0);
  EXPECT_EQ(run(Binary{BinaryKind::mul}, f32({0, 3}, {}), f32({3}, {1, 2, 3})).shape(), (Shape{0, 3}));
}

TEST(Binary, LongRowsAgreeWithShortOnes) {
  const Tensor a = random({3, 5000}, 1), b = random({3, 1}, 2);
  const Numbers x = numbers(a), y = numbers(b), z = numbers(run(Binary{BinaryKind::mul}, a, b));
  for (std::size_t i = 0; i < z.size(); ++i)
    ASSERT_EQ(z[i], static_cast<double>(static_cast<float>(x[i] * y[i / 5000])));
}

TEST(Binary, IntegersAreExact) {
  const auto both = [](BinaryKind kind, DType dtype, const Numbers& a, const Numbers& b) {
    return numbers(run(Binary{kind}, tensor(dtype, {static_cast<std::int64_t>(a.size())}, a),
                       tensor(dtype, {static_cast<std::int64_t>(b.size())}, b)));
  };
  EXPECT_EQ(both(BinaryKind::div, DType::i32, {7, -7, -2147483648.0}, {2, 2, -1}), (Numbers{3, -3, -2147483648.0}));
  EXPECT_EQ(both(BinaryKind::mod, DType::i32, {7, -7, 7, -7}, {3, 3, -3, -3}), (Numbers{1, 2, -2, -1}));
  EXPECT_EQ(both(BinaryKind::fmod, DType::i32, {7, -7, 7, -7}, {3, 3, -3, -3}), (Numbers{1, -1, 1, -1}));
  EXPECT_EQ(both(BinaryKind::add, DType::u8, {250, 1}, {10, 1}), (Numbers{4, 2}));
  EXPECT_EQ(both(BinaryKind::sub, DType::u32, {0}, {1}), (Numbers{4294967295.0}));
  EXPECT_EQ(both(BinaryKind::mul, DType::i8, {100}, {3}), (Numbers{44}));
  EXPECT_EQ(both(BinaryKind::pow, DType::i32, {3, -2, 2}, {4, 3, -1}), (Numbers{81, -8, 0}));
  EXPECT_EQ(both(BinaryKind::bitwise_xor, DType::u8, {12}, {10}), (Numbers{6}));
  EXPECT_EQ(both(BinaryKind::shift_left, DType::u8, {129, 1, 3, 1}, {1, 7, 8, 64}), (Numbers{2, 128, 0, 0}));
  EXPECT_EQ(both(BinaryKind::shift_right, DType::u64, {9, 9, 9}, {1, 63, 64}), (Numbers{4, 0, 0}));
  EXPECT_EQ(both(BinaryKind::max, DType::u64, {1}, {9e18}), (Numbers{9e18}));
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(run(Binary{BinaryKind::div}, i64({1}, {least}), i64({1}, {-1})).values<std::int64_t>()[0], least);
  EXPECT_EQ(run(Binary{BinaryKind::fmod}, i64({1}, {least}), i64({1}, {-1})).values<std::int64_t>()[0], 0);
  const Tensor one = ints({1}), zero = ints({0});
  expect_error(ErrorCode::invalid_input, Binary{BinaryKind::div}, {&one, &zero});
  expect_error(ErrorCode::invalid_input, Binary{BinaryKind::mod}, {&one, &zero});
}

TEST(Binary, RealKinds) {
  const auto of = [](BinaryKind kind, double a, double b) {
    return numbers(run(Binary{kind}, f32({1}, {a}), f32({1}, {b})))[0];
  };
  EXPECT_EQ(of(BinaryKind::div, 1, 0), kInf);
  EXPECT_EQ(of(BinaryKind::fmod, -7, 3), -1);
  EXPECT_EQ(of(BinaryKind::prelu, -2, 0.5), -1);
  EXPECT_EQ(of(BinaryKind::prelu, 2, 0.5), 2);
  EXPECT_EQ(of(BinaryKind::squared_difference, 1, 4), 9);
  EXPECT_EQ(of(BinaryKind::pow, 2, 10), 1024);
  EXPECT_TRUE(std::isnan(of(BinaryKind::max, 1, NAN)));
  EXPECT_TRUE(std::isnan(of(BinaryKind::min, NAN, 1)));
  EXPECT_EQ(of(BinaryKind::less_or_equal, 2, 2), 1);
  EXPECT_EQ(of(BinaryKind::greater, 2, 2), 0);
}

TEST(Binary, TruthAndText) {
  const Tensor a = booleans({4}, {0, 0, 1, 1}), b = booleans({4}, {0, 1, 0, 1});
  expect_near(run(Binary{BinaryKind::logical_and}, a, b), {4}, {0, 0, 0, 1});
  expect_near(run(Binary{BinaryKind::logical_or}, a, b), {4}, {0, 1, 1, 1});
  expect_near(run(Binary{BinaryKind::logical_xor}, a, b), {4}, {0, 1, 1, 0});
  expect_near(run(Binary{BinaryKind::equal}, strings({2}, {"a", "b"}), strings({1}, {"b"})), {2}, {0, 1});
}

TEST(Select, ChoosesAndBroadcasts) {
  expect_near(run(Select{}, booleans({2, 1}, {1, 0}), f32({2}, {1, 2}), f32({}, {9})), {2, 2}, {1, 2, 9, 9});
  EXPECT_EQ(run(Select{}, booleans({2}, {1, 0}), strings({1}, {"x"}), strings({1}, {"y"})).strings(),
            (std::vector<std::string>{"x", "y"}));
}

TEST(Cast, Numbers) {
  expect_near(run(Cast{DType::i32}, f32({4}, {-1.9, 2.9, 1e20, NAN})), {4}, {-1, 2, 2147483647, 0}, 0);
  expect_near(run(Cast{DType::u8}, tensor(DType::i32, {2}, {-1, 257})), {2}, {255, 1}, 0);
  expect_near(run(Cast{DType::boolean}, f32({3}, {0, -0.5, NAN})), {3}, {0, 1, 1}, 0);
  const std::int64_t big = (std::int64_t{1} << 62) + 1;
  EXPECT_EQ(run(Cast{DType::u64}, i64({1}, {big})).values<std::uint64_t>()[0], static_cast<std::uint64_t>(big));
}

TEST(Cast, Strings) {
  EXPECT_EQ(run(Cast{DType::string}, f32({3}, {0.5, kInf, NAN})).strings(),
            (std::vector<std::string>{"0.5", "INF", "NaN"}));
  EXPECT_EQ(run(Cast{DType::string}, ints({-7})).strings(), (std::vector<std::string>{"-7"}));
  expect_near(run(Cast{DType::f32}, strings({3}, {"1.5", " -2e3 ", "+4"})), {3}, {1.5, -2000, 4}, 0);
  const Tensor word = strings({1}, {"four"});
  expect_error(ErrorCode::invalid_input, Cast{DType::f32}, {&word});
}

}  // namespace
}  // namespace colonnade::test
