// SPDX-License-Identifier: Apache-2.0
// Islands that oneDNN runs, and pools on whole tensors, against the reference.
#include "program/whole.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

void check_onednn(Operator op, const std::vector<Input>& inputs, double tolerance = 1e-5) {
  const Graph graph = single(std::move(op), inputs, 1);
  EXPECT_EQ(program_of(graph, {}, host_isas().back())->islands.at(0).engine, "onednn") << to_text(graph);
  check(graph, families::island, inputs_of(graph, 1), tolerance);
}

TEST(Pools, OfOneAndThreeAxes) {
  for (const PoolKind kind : {PoolKind::max, PoolKind::average})
    for (const bool ceil : {false, true})
      for (const bool counts_pads : {false, true})
        for (const std::int64_t dilation : {1, 2}) {
          Pool volume{kind, {3, 2, 3}, {2, 2, 1}, Ints(3, dilation), {1, 0, 1, 1, 0, 1}};
          volume.ceil_mode = ceil;
          volume.count_include_pad = counts_pads;
          for (const std::int64_t channels : {5, 40})
            check(volume, {computed(DType::f32, {2, 8, 9, 7, channels})}, families::pool_volume, 1e-5);
          check(volume, {computed(DType::f32, {2, 8, 9, 37, 1})}, families::pool_planes, 1e-5);
          Pool line{kind, {4}, {3}, {dilation}, {1, 1}};
          line.ceil_mode = ceil;
          line.count_include_pad = counts_pads;
          check(line, {computed(DType::f32, {2, 12, 5})}, families::pool_volume, 1e-5);
          check(line, {computed(DType::f32, {5, 112, 1})}, families::pool_planes, 1e-5);
        }
  const Pool square{PoolKind::max, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, Ints(6, 0)};
  check(square, {computed(DType::f32, {1, 3, 8, 8, 16})}, families::pool_volume);
  check(square, {computed(DType::f32, {6, 3, 18, 38, 1})}, families::pool_planes);
  const Pool far{PoolKind::max, {2, 2, 2}, {1, 1, 1}, {1, 1, 1 << 20}, {0, 0, 0, 0, 0, 1 << 20}};  // no line so long
  check(far, {computed(DType::f32, {1, 3, 3, 9, 1})}, families::pool_volume);
}

/// EfficientNet's pooler, as Transformers exports it: one window of the channels' number for the whole picture.
TEST(Pools, OfWindowsLargerThanTheirInput) {
  for (const PoolKind kind : {PoolKind::max, PoolKind::average})
    for (const bool counts_pads : {false, true}) {
      const auto larger = [&](std::size_t axes) {
        Pool pool{kind, Ints(axes, 64), Ints(axes, 64), Ints(axes, 1), Ints(2 * axes, 0)};
        pool.pads[0] = 2;
        pool.ceil_mode = true;
        pool.count_include_pad = counts_pads;
        return pool;
      };
      check(larger(1), {computed(DType::f32, {2, 12, 5})}, families::pool_volume, 1e-5);
      check(larger(2), {computed(DType::f32, {2, 7, 9, 40})}, families::pool, 1e-5);
      check(larger(3), {computed(DType::f32, {2, 7, 9, 5, 5})}, families::pool_volume, 1e-5);
    }
}

/// The largest window there is, over a row of a thousandth of its length: each output is the mean of what follows.
TEST(Pools, CountTheTapsOfVastWindows) {
  constexpr std::int64_t kTaps = std::int64_t{1} << 22, kWidth = 5000;
  const Pool pool{PoolKind::average, {1, kTaps}, {1, 1}, {1, 1}, {0, 0, 0, kTaps - 1}};
  const Graph graph = single(pool, {computed(DType::f32, {1, 1, kWidth, 1})}, 1);
  std::vector<double> row, means;
  for (std::int64_t i = 0; i < kWidth; ++i) {
    row.push_back(static_cast<double>(i));
    means.push_back(static_cast<double>(i + kWidth - 1) / 2);
  }
  const std::vector<Tensor> inputs{reference::tensor_of(DType::f32, {1, 1, kWidth, 1}, row)};
  const std::vector<Tensor> found = run(graph, {Schedule::layers, Math::fast, 1, 0}, host_isas().back(), inputs);
  expect_close(found, {reference::tensor_of(DType::f32, {1, 1, kWidth, 1}, means)}, 0.1);
}

Conv conv_of(std::size_t axes, std::int64_t groups) {
  Conv op;
  op.kernel.assign(axes, 3), op.strides.assign(axes, 1), op.dilations.assign(axes, 1), op.pads.assign(2 * axes, 1),
      op.groups = groups;
  op.strides.back() = 2;
  return op;
}

TEST(Volumes, AreConvolvedDenseGroupedAndDepthwise) {
  const auto weights = [](const Shape& shape) { return constant(random_tensor(DType::f32, shape, 3)); };
  const auto check_conv = [&](const Conv& op, std::int64_t in, std::int64_t out) {
    Shape filter{out, in / op.groups};
    filter.insert(filter.end(), op.kernel.begin(), op.kernel.end());
    check(op, {computed(DType::f32, {2, 5, 6, 37, in}), weights(filter), weights({out})}, families::conv_volume, 1e-3);
  };
  for (const std::int64_t groups : {1, 2, 16}) {
    Conv op = conv_of(3, groups);
    check_conv(op, 16, 16);
    op.strides = {2, 2, 1}, op.dilations = {1, 2, 3}, op.pads = {0, 2, 3, 1, 0, 2};
    op.epilogue.activation = {UnaryKind::relu};
    check_conv(op, 16, 16);
    op.kernel = {1, 3, 2}, op.dilations = {2, 1, 1};
    check_conv(op, 16, 16);
  }
  check_conv(conv_of(3, 1), 3, 20);
  check_conv(conv_of(3, 1), 16, 1);
  check_conv(conv_of(3, 19), 19, 19);
}

TEST(Volumes, TakeAResidual) {
  for (const std::int64_t groups : {1, 24})
    for (const bool after : {false, true}) {
      Conv op = conv_of(3, groups);
      op.strides = {1, 1, 1};
      op.epilogue = {.activation = {UnaryKind::relu}, .residual = true, .residual_after = after};
      const Input volume = computed(DType::f32, {1, 3, 5, 6, 24});
      check(op, {volume, constant(random_tensor(DType::f32, {24, 24 / groups, 3, 3, 3}, 3)), absent(), volume},
            families::conv_volume, 1e-3);
    }
}

TEST(Volumes, AndImagesPackComputedWeights) {
  for (const std::size_t axes : {1, 2, 3})
    for (const std::int64_t groups : {1, 2, 16})
      for (const std::int64_t out : {16, 48})
        for (const bool constant_weights : {false, true}) {
          Shape volume{2}, filter{out, 16 / groups};
          for (std::size_t axis = 0; axis < axes; ++axis) volume.push_back(5 + static_cast<std::int64_t>(axis));
          volume.push_back(16);
          filter.resize(2 + axes, 3);
          const Input weights =
              constant_weights ? constant(random_tensor(DType::f32, filter, 3)) : computed(DType::f32, filter);
          check(conv_of(axes, groups), {computed(DType::f32, volume), weights, computed(DType::f32, {out})},
                families::conv_volume, 1e-3);
        }
}

/// Planning a reduction of 120 GiB allocates nothing of that size: the primitive would 48 GiB.
TEST(OneDnn, IsLeftWhereItTakesMuchScratch) {
  const Graph graph =
      single(Reduce{}, {computed(DType::f32, {3, 5, std::int64_t{1} << 31}), constant(index_tensor({2}, {0, 2}))}, 1);
  EXPECT_EQ(program_of(graph, {}, host_isas().back())->islands.at(0).engine, "reference");
}

TEST(OneDnn, NormalisesLocalResponses) {
  check_onednn(Lrn{5, 1e-2f, 0.75f, 2, 1}, {computed(DType::f32, {2, 9, 4, 5})});
}

}  // namespace
}  // namespace colonnade::test
