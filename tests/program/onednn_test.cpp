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
          for (const std::int64_t channels : {1, 5, 40})
            check(volume, {computed(DType::f32, {2, 8, 9, 7, channels})}, families::pool_volume, 1e-5);
          Pool line{kind, {4}, {3}, {dilation}, {1, 1}};
          line.ceil_mode = ceil;
          line.count_include_pad = counts_pads;
          check(line, {computed(DType::f32, {2, 12, 5})}, families::pool_volume, 1e-5);
        }
  const Pool square{PoolKind::max, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, Ints(6, 0)};
  check(square, {computed(DType::f32, {1, 3, 8, 8, 16})}, families::pool_volume);
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

/// With weights in the order of the primitive: the one that takes them as they are is a hundred times as slow.
TEST(OneDnn, ConvolvesVolumesAndByComputedWeights) {
  const auto conv = [](std::size_t axes, std::int64_t groups) {
    Conv op;
    op.kernel.assign(axes, 3), op.strides.assign(axes, 1), op.dilations.assign(axes, 1), op.pads.assign(2 * axes, 1),
        op.groups = groups;
    op.strides.back() = 2;
    return op;
  };
  const auto check_conv = [&](const Conv& op, const std::vector<Input>& inputs) {
    check_onednn(op, inputs, 1e-3);
    const std::string text = to_text(*program_of(single(op, inputs, 1), {}, host_isas().back()));
    EXPECT_NE(text.find("onednn:"), std::string::npos) << text;
    EXPECT_EQ(text.find("onednn:ref"), std::string::npos) << text;
  };
  const Input volume = computed(DType::f32, {2, 5, 6, 7, 16}), image = computed(DType::f32, {1, 9, 8, 16});
  const auto weights = [](const Shape& shape) { return constant(random_tensor(DType::f32, shape, 3)); };
  check_conv(conv(3, 1), {volume, weights({8, 16, 3, 3, 3}), weights({8})});
  check_conv(conv(3, 1), {volume, computed(DType::f32, {8, 16, 3, 3, 3})});
  check_conv(conv(3, 16), {volume, weights({16, 1, 3, 3, 3})});
  check_conv(conv(2, 1), {image, computed(DType::f32, {24, 16, 3, 3}), computed(DType::f32, {24})});
  check_conv(conv(2, 4), {image, computed(DType::f32, {8, 4, 3, 3})});
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
