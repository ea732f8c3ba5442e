// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "reference/support.hpp"

namespace colonnade::test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(Reduce, EveryKind) {
  const Tensor x = f32({2, 2}, {1, -2, 3, 4}), axis = ints({1});
  const auto of = [&](ReduceKind kind) { return numbers(run(Reduce{kind, false, false}, x, axis)); };
  EXPECT_EQ(of(ReduceKind::sum), (Numbers{-1, 7}));
  EXPECT_EQ(of(ReduceKind::mean), (Numbers{-0.5, 3.5}));
  EXPECT_EQ(of(ReduceKind::max), (Numbers{1, 4}));
  EXPECT_EQ(of(ReduceKind::min), (Numbers{-2, 3}));
  EXPECT_EQ(of(ReduceKind::prod), (Numbers{-2, 12}));
  EXPECT_EQ(of(ReduceKind::l1), (Numbers{3, 7}));
  EXPECT_NEAR(of(ReduceKind::l2)[0], std::sqrt(5), 1e-6);
  EXPECT_NEAR(of(ReduceKind::log_sum)[1], std::log(7), 1e-6);
  EXPECT_NEAR(of(ReduceKind::log_sum_exp)[1], std::log(std::exp(3) + std::exp(4)), 1e-6);
  EXPECT_EQ(of(ReduceKind::sum_square), (Numbers{5, 25}));
}

TEST(Reduce, AxesAndShapes) {
  const Tensor x = f32({2, 1, 3}, {1, 2, 3, 4, 5, 6}), none = ints({});
  expect_near(run(Reduce{}, x, ints({0, -1})), {1, 1, 1}, {21});
  expect_near(run(Reduce{}, x, ints({0})), {1, 1, 3}, {5, 7, 9});
  expect_near(run(Reduce{ReduceKind::sum, false, false}, x), {}, {21});
  expect_near(run(Reduce{ReduceKind::sum, true, true}, x, none), {2, 1, 3}, {1, 2, 3, 4, 5, 6});
}

TEST(Reduce, IntegersAndExtremes) {
  expect_near(run(Reduce{}, tensor(DType::i8, {3}, {100, 100, 1})), {1}, {-55}, 0);
  expect_near(run(Reduce{ReduceKind::mean}, tensor(DType::i32, {2}, {-3, 0})), {1}, {-1}, 0);
  expect_near(run(Reduce{ReduceKind::max}, tensor(DType::i8, {2}, {-100, -3})), {1}, {-3}, 0);
  expect_near(run(Reduce{ReduceKind::min}, tensor(DType::u8, {2}, {200, 30})), {1}, {30}, 0);
  expect_near(run(Reduce{ReduceKind::log_sum_exp}, f32({2}, {1000, 1000})), {1}, {1000 + std::log(2)}, 1e-4);
  EXPECT_EQ(numbers(run(Reduce{ReduceKind::max}, f32({0}, {})))[0], -kInfinite);
  EXPECT_EQ(numbers(run(Reduce{ReduceKind::prod}, f32({0}, {})))[0], 1);
  EXPECT_EQ(numbers(run(Reduce{ReduceKind::log_sum_exp}, f32({1}, {-kInfinite})))[0], -kInfinite);
}

TEST(Reduce, SumsInDouble) {
  const Tensor x = f32({3}, {1e8, 1, -1e8});
  expect_near(run(Reduce{}, x), {1}, {1}, 0);
}

TEST(ArgReduce, FirstAndLast) {
  const Tensor x = f32({2, 3}, {1, 5, 5, -1, -7, -7});
  expect_near(run(ArgReduce{true, 1, false, false}, x), {2}, {1, 0});
  expect_near(run(ArgReduce{true, 1, true, true}, x), {2, 1}, {2, 0});
  expect_near(run(ArgReduce{false, -1, false, true}, x), {2}, {0, 2});
  expect_near(run(ArgReduce{true, 0, false, false}, x), {3}, {0, 0, 0});
}

TEST(CumSum, Variants) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6}), axis = i64({}, {1});
  expect_near(run(CumSum{}, x, axis), {2, 3}, {1, 3, 6, 4, 9, 15});
  expect_near(run(CumSum{true, false}, x, axis), {2, 3}, {0, 1, 3, 0, 4, 9});
  expect_near(run(CumSum{false, true}, x, axis), {2, 3}, {6, 5, 3, 15, 11, 6});
  expect_near(run(CumSum{true, true}, x, i64({}, {-2})), {2, 3}, {4, 5, 6, 0, 0, 0});
}

TEST(Softmax, SumsToOneAlongAnyAxis) {
  const Tensor x = random({3, 4, 5}, 7);
  for (const std::int64_t axis : {0, 1, 2, -1}) {
    const Tensor y = run(Softmax{axis, false}, x);
    for (const double sum : numbers(run(Reduce{}, y, ints({axis})))) EXPECT_NEAR(sum, 1, 1e-6);
    const Numbers direct = numbers(y), logs = numbers(run(Softmax{axis, true}, x));
    for (std::size_t i = 0; i < logs.size(); ++i) EXPECT_NEAR(std::log(direct[i]), logs[i], 1e-6);
  }
  expect_near(run(Softmax{}, f32({2}, {1000, 1000})), {2}, {0.5, 0.5});
}

TEST(Hardmax, FirstLargest) { expect_near(run(Hardmax{}, f32({4}, {1, 3, 3, 2})), {4}, {0, 1, 0, 0}); }

TEST(BatchNorm, ChannelsFirstAndLast) {
  const Tensor scale = f32({2}, {2, 1}), bias = f32({2}, {1, 0}), mean = f32({2}, {1, 2}), variance = f32({2}, {4, 1});
  expect_near(run(BatchNorm{0, 1}, f32({1, 2, 2}, {1, 3, 2, 5}), scale, bias, mean, variance), {1, 2, 2}, {1, 3, 0, 3});
  expect_near(run(BatchNorm{0, 2}, f32({1, 2, 2}, {1, 2, 3, 5}), scale, bias, mean, variance), {1, 2, 2}, {1, 0, 3, 3});
}

TEST(InstanceNorm, ChannelsFirstAndLastAgree) {
  const Tensor scale = f32({3}, {2, 1, 0.5}), bias = f32({3}, {1, 0, -1}), x = random({2, 3, 4, 5});
  const Tensor first = run(InstanceNorm{1e-5f, 1}, x, scale, bias);
  const Tensor last = run(InstanceNorm{1e-5f, 3}, run(Transpose{{0, 2, 3, 1}}, x), scale, bias);
  expect_near(run(Transpose{{0, 3, 1, 2}}, last), x.shape(), numbers(first), 0);
  const Numbers means = numbers(run(Reduce{ReduceKind::mean}, first, ints({2, 3})));
  for (std::size_t i = 0; i < means.size(); ++i) EXPECT_NEAR(means[i], numbers(bias)[i % 3], 1e-6);
  expect_near(run(InstanceNorm{0, 1}, f32({1, 1, 2}, {1, 3}), f32({1}, {1}), f32({1}, {0})), {1, 1, 2}, {-1, 1});
}

TEST(LayerNorm, WithAndWithoutMean) {
  const Tensor x = f32({2, 2}, {1, 3, 3, 4}), scale = f32({2}, {1, 2}), bias = f32({2}, {0, 1});
  expect_near(run(LayerNorm{0, -1, false}, x, scale, bias), {2, 2}, {-1, 3, -1, 3});
  expect_near(run(LayerNorm{0, 0, false}, f32({2}, {1, 3}), f32({1}, {5})), {2}, {-5, 5});
  const double rms = std::sqrt(12.5);
  expect_near(run(LayerNorm{0, 1, true}, f32({1, 2}, {3, 4}), scale), {1, 2}, {3 / rms, 8 / rms});
}

TEST(Lrn, WindowOfThree) {
  const Tensor x = f32({1, 4, 1}, {1, 2, 3, 4});
  const auto y = [](double v, double squares) { return v / std::pow(1 + 3.0 / 3 * squares, 0.5); };
  expect_near(run(Lrn{3, 3, 0.5f, 1, 1}, x), {1, 4, 1}, {y(1, 5), y(2, 14), y(3, 29), y(4, 25)});
  // An even window has one more element behind than before.
  expect_near(run(Lrn{2, 2, 1, 1, 1}, x), {1, 4, 1}, {1.0 / 6, 2.0 / 14, 3.0 / 26, 4.0 / 17});
}

}  // namespace
}  // namespace colonnade::test
