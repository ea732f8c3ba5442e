// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "reference/support.hpp"

namespace colonnade::test {
namespace {

Conv conv_2d(Ints strides, Ints dilations, Ints pads, std::int64_t groups = 1) {
  Conv conv;
  conv.kernel = {3, 3};
  conv.strides = std::move(strides);
  conv.dilations = std::move(dilations);
  conv.pads = std::move(pads);
  conv.groups = groups;
  return conv;
}

TEST(Conv, OnesCountTheWindow) {
  const Tensor x = f32({1, 3, 3, 1}, Numbers(9, 1)), w = f32({1, 1, 3, 3}, Numbers(9, 1)), bias = f32({1}, {10});
  expect_near(run(conv_2d({1, 1}, {1, 1}, {1, 1, 1, 1}), x, w, bias), {1, 3, 3, 1},
              {14, 16, 14, 16, 19, 16, 14, 16, 14});
  expect_near(run(conv_2d({2, 2}, {1, 1}, {1, 1, 1, 1}), x, w), {1, 2, 2, 1}, {4, 4, 4, 4});
}

/// The definition, one output at a time.
double conv_at(const Conv& conv, const Tensor& x, const Tensor& w, std::int64_t n, std::int64_t r, std::int64_t c,
               std::int64_t o) {
  const Numbers in = numbers(x), weight = numbers(w);
  const Shape& s = x.shape();
  const std::int64_t group_inputs = w.shape()[1], group = o / (w.shape()[0] / conv.groups);
  double sum = 0;
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      const std::int64_t row = r * conv.strides[0] - conv.pads[0] + i * conv.dilations[0];
      const std::int64_t column = c * conv.strides[1] - conv.pads[1] + j * conv.dilations[1];
      if (row < 0 || row >= s[1] || column < 0 || column >= s[2]) continue;
      for (std::int64_t k = 0; k < group_inputs; ++k) {
        sum += in[static_cast<std::size_t>(((n * s[1] + row) * s[2] + column) * s[3] + group * group_inputs + k)] *
               weight[static_cast<std::size_t>(((o * group_inputs + k) * 3 + i) * 3 + j)];
      }
    }
  }
  return sum;
}

TEST(Conv, AgreesWithTheDefinition) {
  for (const std::int64_t groups : {1, 2, 4}) {
    const Conv conv = conv_2d({2, 1}, {1, 2}, {1, 2, 0, 1}, groups);
    const Tensor x = random({2, 7, 8, 4}), w = random({8, 4 / groups, 3, 3}, 2), y = run(conv, x, w);
    const Numbers found = numbers(y);
    const Shape& s = y.shape();
    std::size_t at = 0;
    for (std::int64_t n = 0; n < s[0]; ++n) {
      for (std::int64_t r = 0; r < s[1]; ++r) {
        for (std::int64_t c = 0; c < s[2]; ++c) {
          for (std::int64_t o = 0; o < s[3]; ++o) EXPECT_NEAR(found[at++], conv_at(conv, x, w, n, r, c, o), 1e-6);
        }
      }
    }
  }
}

TEST(Conv, OneAndThreeSpatialAxes) {
  Conv one;
  one.kernel = {2}, one.strides = {1}, one.dilations = {1}, one.pads = {0, 0};
  expect_near(run(one, f32({1, 3, 1}, {1, 2, 3}), f32({1, 1, 2}, {10, 1})), {1, 2, 1}, {12, 23});
  Conv three;
  three.kernel = {2, 2, 2}, three.strides = {1, 1, 1}, three.dilations = {1, 1, 1}, three.pads = Ints(6, 0);
  expect_near(run(three, f32({1, 2, 2, 2, 1}, {1, 2, 3, 4, 5, 6, 7, 8}), f32({1, 1, 2, 2, 2}, Numbers(8, 1))),
              {1, 1, 1, 1, 1}, {36});
}

TEST(Conv, SameUpperPads) {
  Conv conv = conv_2d({2, 2}, {1, 1}, {});
  conv.auto_pad = AutoPad::same_upper;
  const Tensor y = run(conv, f32({1, 4, 4, 1}, Numbers(16, 1)), f32({1, 1, 3, 3}, Numbers(9, 1)));
  expect_near(y, {1, 2, 2, 1}, {9, 6, 6, 4});
}

TEST(Conv, Epilogues) {
  const Tensor x = f32({1, 1, 2, 1}, {1, -1}), w = f32({2, 1, 1, 1}, {2, -3}),
               residual = f32({1, 1, 2, 2}, {1, 1, 1, 1});
  Conv conv;
  conv.kernel = {1, 1}, conv.strides = {1, 1}, conv.dilations = {1, 1}, conv.pads = Ints(4, 0);
  const auto outputs = [&](FusedEpilogue epilogue, const std::vector<const Tensor*>& extra) {
    conv.epilogue = epilogue;
    std::vector<const Tensor*> inputs{&x, &w, nullptr};
    inputs.insert(inputs.end(), extra.begin(), extra.end());
    return numbers(outputs_of(conv, inputs)[0]);
  };
  EXPECT_EQ(outputs({{UnaryKind::relu}}, {}), (Numbers{2, 0, 0, 3}));
  EXPECT_EQ(outputs({{UnaryKind::relu}, false, true, false}, {&residual}), (Numbers{3, 0, 0, 4}));
  EXPECT_EQ(outputs({{UnaryKind::relu}, false, true, true}, {&residual}), (Numbers{3, 1, 1, 4}));
  const Tensor slope = f32({2}, {0.5, 0.25});
  EXPECT_EQ(outputs({{}, true, false, false}, {&slope}), (Numbers{2, -0.75, -1, 3}));
  EXPECT_EQ(outputs({{}, true, true, true}, {&slope, &residual}), (Numbers{3, 0.25, 0, 4}));
}

TEST(ConvTranspose, SpreadsOneElement) {
  ConvTranspose conv;
  conv.kernel = {2, 2}, conv.strides = {2, 2}, conv.dilations = {1, 1}, conv.pads = Ints(4, 0),
  conv.output_padding = {0, 0};
  const Tensor y = run(conv, f32({1, 1, 2, 1}, {1, 10}), f32({1, 1, 2, 2}, {1, 2, 3, 4}));
  expect_near(y, {1, 2, 4, 1}, {1, 2, 10, 20, 3, 4, 30, 40});
}

TEST(ConvTranspose, IsTheAdjointOfConv) {
  for (const std::int64_t groups : {1, 3}) {
    Conv conv = conv_2d({2, 1}, {1, 2}, {1, 2, 1, 2}, groups);
    ConvTranspose transposed;
    transposed.kernel = conv.kernel, transposed.strides = conv.strides, transposed.dilations = conv.dilations;
    transposed.pads = conv.pads, transposed.groups = groups, transposed.output_padding = {0, 0};
    const Tensor x = random({2, 7, 6, 6}, 1, DType::f64), w = random({9, 6 / groups, 3, 3}, 2, DType::f64);
    const Tensor y = random(run(conv, x, w).shape(), 3, DType::f64);
    EXPECT_EQ(run(transposed, y, w).shape(), x.shape());
    EXPECT_NEAR(dot(run(conv, x, w), y), dot(x, run(transposed, y, w)), 1e-9);
  }
}

TEST(MatMul, RanksBatchesAndTransposes) {
  const Tensor a = f32({2, 3}, {1, 2, 3, 4, 5, 6}), b = f32({3, 2}, {1, 0, 0, 1, 1, 1});
  expect_near(run(MatMul{}, a, b), {2, 2}, {4, 5, 10, 11});
  expect_near(run(MatMul{true, true, {}}, b, a), {2, 2}, {4, 10, 5, 11});
  expect_near(run(MatMul{}, f32({3}, {1, 1, 1}), b), {2}, {2, 2});
  expect_near(run(MatMul{}, a, f32({3}, {1, 1, 1})), {2}, {6, 15});
  expect_near(run(MatMul{}, f32({3}, {1, 2, 3}), f32({3}, {1, 1, 1})), {}, {6});
  expect_near(run(MatMul{}, a, b, f32({2}, {100, 200})), {2, 2}, {104, 205, 110, 211});
  const Tensor batched = run(MatMul{}, f32({2, 1, 1, 2}, {1, 2, 3, 4}), f32({2, 2, 1}, {1, 1, 10, 10}));
  expect_near(batched, {2, 2, 1, 1}, {3, 30, 7, 70});
  EXPECT_EQ(run(MatMul{}, f32({2, 0}, {}), f32({0, 3}, {})).shape(), (Shape{2, 3}));
}

TEST(MatMul, HeadsInside) {
  const Transpose swap{{0, 2, 1, 3}};
  const Tensor a = random({2, 7, 3, 5}), b = random({2, 4, 3, 5}, 2), c = random({2, 3, 7, 6}, 3);
  const Tensor scores = run(MatMul{false, true, {}}, run(swap, a), run(swap, b));
  expect_near(run(MatMul{false, true, {}, true, true, false}, a, b), scores.shape(), numbers(scores), 0);
  const Tensor mixed = run(swap, run(MatMul{true, false, {}}, c, run(swap, a)));
  expect_near(run(MatMul{true, false, {}, false, true, true}, c, a), mixed.shape(), numbers(mixed), 0);
}

TEST(MatMul, IntegersWrap) {
  const Tensor y = run(MatMul{}, tensor(DType::i32, {1, 2}, {65536, 3}), tensor(DType::i32, {2, 1}, {65536, 7}));
  expect_near(y, {1, 1}, {21}, 0);
}

TEST(MatMul, ManyRowsAgreeWithOne) {
  const Tensor a = random({7, 5}), b = random({5, 3}, 2), all = run(MatMul{}, a, b);
  for (std::int64_t r = 0; r < 7; ++r) {
    const Numbers rows = numbers(a), sums = numbers(all);
    const Numbers row(rows.begin() + r * 5, rows.begin() + r * 5 + 5),
        expected(sums.begin() + r * 3, sums.begin() + r * 3 + 3);
    expect_near(run(MatMul{}, f32({1, 5}, row), b), {1, 3}, expected, 0);
  }
}

Pool pool_1d(PoolKind kind, std::int64_t kernel, std::int64_t stride, Ints pads) {
  Pool pool;
  pool.kind = kind;
  pool.kernel = {kernel}, pool.strides = {stride}, pool.dilations = {1}, pool.pads = std::move(pads);
  return pool;
}

TEST(Pool, MaxAverageLp) {
  const Tensor x = f32({1, 4, 1}, {1, -2, 3, -4});
  expect_near(run(pool_1d(PoolKind::max, 2, 1, {0, 0}), x), {1, 3, 1}, {1, 3, 3});
  expect_near(run(pool_1d(PoolKind::average, 2, 2, {0, 0}), x), {1, 2, 1}, {-0.5, -0.5});
  expect_near(run(pool_1d(PoolKind::lp, 2, 2, {0, 0}), x), {1, 2, 1}, {std::sqrt(5), 5});
  Pool lp1 = pool_1d(PoolKind::lp, 2, 2, {0, 0});
  lp1.p = 1;
  expect_near(run(lp1, x), {1, 2, 1}, {3, 7});
  expect_near(run(pool_1d(PoolKind::max, 2, 2, {0, 0}), tensor(DType::i8, {1, 2, 1}, {-7, -9})), {1, 1, 1}, {-7});
}

TEST(Pool, PaddingAndCeiling) {
  const Tensor x = f32({1, 4, 1}, {1, 2, 3, 4});
  Pool average = pool_1d(PoolKind::average, 3, 2, {1, 1});
  expect_near(run(average, x), {1, 2, 1}, {1.5, 3});
  average.count_include_pad = true;
  expect_near(run(average, x), {1, 2, 1}, {1, 3});
  average.ceil_mode = true;
  expect_near(run(average, x), {1, 3, 1}, {1, 3, 2});  // the last window has 4, one padding and nothing
}

TEST(Pool, IndicesNumberChannelsFirst) {
  Pool pool;
  pool.kernel = {2, 2}, pool.strides = {2, 2}, pool.dilations = {1, 1}, pool.pads = Ints(4, 0);
  // Two channels over 2 x 4 pixels: the maxima of channel 0 at pixels 4 and 3, of channel 1 at pixels 0 and 7.
  const Tensor x = f32({1, 2, 4, 2}, {0, 9, 0, 0, 0, 0, 8, 0, 7, 0, 0, 0, 0, 0, 0, 6});
  const std::vector<Tensor> outputs = outputs_of(pool, {&x}, 2);
  expect_near(outputs[0], {1, 1, 2, 2}, {7, 9, 8, 6});
  expect_near(outputs[1], {1, 1, 2, 2}, {4, 8, 3, 15});
}

}  // namespace
}  // namespace colonnade::test
