// SPDX-License-Identifier: Apache-2.0
#include "frontends/quantize/smooth.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "frontends/quantize/probe.hpp"

namespace colonnade::quantize {
namespace {

constexpr std::int64_t kTokens = 6, kWidth = 8;

Tensor random_tensor(Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  Tensor tensor(DType::f32, std::move(shape));
  for (float& value : tensor.values<float>()) value = distribution(random);
  return tensor;
}

Tensor gamma_with_an_outlier() {
  Tensor gamma = random_tensor({kWidth}, 1);
  gamma.values<float>()[3] = 40;
  return gamma;
}

/// A network of x and y, both [tokens, width], whose nodes a test adds.
Network empty_network() {
  Network network;
  network.model.set_ir_version(8);
  network.model.add_opset_import()->set_version(17);
  network.graph().set_name("net");
  auto* x = network.graph().add_input();
  x->set_name("x");
  auto* type = x->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t size : {kTokens, kWidth}) type->mutable_shape()->add_dim()->set_dim_value(size);
  network.graph().add_output()->set_name("y");
  return network;
}

void add(Network& network, const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
  *network.graph().add_node() = make_node(op, op + "_" + output, inputs, output);
}

/// A norm `n` of x in one node, and two products behind it, whose sum is y.
Network norm_and_products() {
  Network network = empty_network();
  add(network, "LayerNormalization",
      {"x", network.add_constant("gamma", gamma_with_an_outlier()),
       network.add_constant("beta", random_tensor({kWidth}, 2))},
      "n");
  add(network, "MatMul", {"n", network.add_constant("a", random_tensor({kWidth, 5}, 3))}, "p");
  add(network, "MatMul", {"n", network.add_constant("b", random_tensor({kWidth, 5}, 4))}, "q");
  add(network, "Add", {"p", "q"}, "y");
  network.index();
  return network;
}

const Samples kSamples{4, [](std::size_t index) {
                         std::vector<Tensor> inputs;
                         inputs.push_back(random_tensor({kTokens, kWidth}, 10 + static_cast<unsigned>(index)));
                         return inputs;
                       }};

std::vector<float> run(Network& network, const std::string& output) {
  const std::vector<Tensor> found = Probe(network, std::vector<std::string>{output}, 1).run(kSamples.at(0));
  return {found[0].values<float>().begin(), found[0].values<float>().end()};
}

/// Of all, the largest over the mean: what one scale for all of them costs.
float peak_of(const std::vector<float>& values) {
  float largest = 0, sum = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value)), sum += std::abs(value);
  return largest * static_cast<float>(values.size()) / sum;
}

void expect_smoothed(Network network, std::size_t products) {
  const std::vector<float> before = run(network, "y"), norm_before = run(network, "n");
  EXPECT_EQ(smooth(network, kSamples, {}).size(), products);
  const std::vector<float> after = run(network, "y");
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-4F) << i;
  EXPECT_LT(peak_of(run(network, "n")), 0.6F * peak_of(norm_before));
}

TEST(Smooth, MovesAnOutlierIntoWeightsAndChangesNoAnswer) { expect_smoothed(norm_and_products(), 2); }

TEST(Smooth, ANormInSingleNodes) {
  Network network = empty_network();
  add(network, "Mul", {network.add_constant("gamma", gamma_with_an_outlier()), "x"}, "scaled");
  add(network, "Add", {"scaled", network.add_constant("beta", random_tensor({1, kWidth}, 2))}, "n");
  add(network, "Gemm", {"n", network.add_constant("a", random_tensor({5, kWidth}, 3))}, "y");
  set_integer(*network.graph().mutable_node(2), "transB", 1);
  network.index();
  expect_smoothed(std::move(network), 1);
}

TEST(Smooth, ConstantsThatOthersReadStay) {
  Network network = norm_and_products();
  add(network, "MatMul", {"x", "a"}, "other");
  add(network, "Mul", {"x", "gamma"}, "z");
  network.graph().add_output()->set_name("z");
  network.index();
  const std::vector<float> other = run(network, "other"), z = run(network, "z");
  expect_smoothed(network, 2);
  smooth(network, kSamples, {});
  EXPECT_EQ(run(network, "other"), other);
  EXPECT_EQ(run(network, "z"), z);
}

TEST(Smooth, LeavesANormThatOthersRead) {
  Network residual = norm_and_products();
  add(residual, "Relu", {"n"}, "r");
  residual.index();
  EXPECT_TRUE(find_norms(residual).empty());
  Network output = norm_and_products();
  output.graph().add_output()->set_name("n");
  output.index();
  EXPECT_TRUE(find_norms(output).empty());
}

TEST(Smooth, LeavesWhatIsNoNorm) {
  Network network = empty_network();
  add(network, "Relu", {"x"}, "n");
  add(network, "MatMul", {"n", network.add_constant("a", random_tensor({kWidth, 5}, 3))}, "y");
  network.index();
  EXPECT_TRUE(find_norms(network).empty());
  EXPECT_TRUE(smooth(network, kSamples, {}).empty());
}

TEST(Smoothing, LeavesChannelsThatAreAlike) {
  const Channels even{std::vector<float>(8, 3), std::vector<double>(8, 1)};
  std::vector<Tensor> weights;
  weights.push_back(random_tensor({8, 16}, 5));
  for (float& value : weights[0].values<float>()) value = value < 0 ? -1.0F : 1.0F;
  EXPECT_TRUE(smoothing(even, weights).empty());
}

TEST(Smoothing, DividesALargeChannelMoreThanOthers) {
  Channels channels{std::vector<float>(8, 1), std::vector<double>(8, 0.1)};
  channels.largest[2] = 100, channels.squares[2] = 1000;
  std::vector<Tensor> weights;
  weights.push_back(random_tensor({8, 16}, 5));
  const std::vector<float> factors = smoothing(channels, weights);
  ASSERT_EQ(factors.size(), 8u);
  for (std::size_t c = 0; c < 8; ++c)
    if (c != 2) {
      EXPECT_GT(factors[2], 2 * factors[c]);
    }
}

TEST(Smoothing, OfChannelsAndWeightsOfNothing) {
  const Channels nothing{std::vector<float>(4, 0), std::vector<double>(4, 0)};
  std::vector<Tensor> weights;
  weights.push_back(Tensor(DType::f32, {4, 2}));
  std::ranges::fill(weights[0].values<float>(), 0.0F);
  EXPECT_TRUE(smoothing(nothing, weights).empty());
}

}  // namespace
}  // namespace colonnade::quantize
