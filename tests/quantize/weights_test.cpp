// SPDX-License-Identifier: Apache-2.0
#include "frontends/quantize/weights.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace colonnade::quantize {
namespace {

Tensor tensor(Shape shape, std::vector<float> values) { return floats_of(values, std::move(shape)); }

Tensor random_weights(const Shape& shape) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> distribution(-1, 1);
  Tensor weights(DType::f32, shape);
  for (float& value : weights.values<float>()) value = distribution(random);
  return weights;
}

Product convolution(std::int64_t outputs, std::int64_t groups) {
  Product product;
  product.outputs = outputs;
  product.groups = groups;
  return product;
}

Product matrix(std::int64_t outputs) {
  Product product;
  product.output_axis = 1, product.input_axis = 0, product.x_axis = -1;
  product.outputs = outputs;
  return product;
}

TEST(ByteWeights, HaveAScaleForEachOutput) {
  const Tensor weights = tensor({2, 2, 1}, {127, -64, 0.5F, -1});
  const ByteWeights bytes = bytes_of_weights(weights, convolution(2, 1), {});
  EXPECT_EQ(bytes.scales, (std::vector<float>{1, 1.0F / 127}));
  const auto values = bytes.values.values<std::int8_t>();
  EXPECT_EQ(std::vector<int>(values.begin(), values.end()), (std::vector<int>{127, -64, 64, -127}));
  EXPECT_NEAR(floats_of(bytes).values<float>()[2], 0.5F, 0.004F);
}

TEST(ByteWeights, OfAMatrixGoAlongColumns) {
  const ByteWeights bytes = bytes_of_weights(tensor({2, 3}, {1, 20, 0, -2, 10, 0}), matrix(3), {});
  ASSERT_EQ(bytes.scales.size(), 3u);
  EXPECT_FLOAT_EQ(bytes.scales[0], 2.0F / 127);
  EXPECT_FLOAT_EQ(bytes.scales[1], 20.0F / 127);
  EXPECT_EQ(bytes.scales[2], 1) << "a column of zeros";
  EXPECT_EQ(bytes.axis, 1);
}

TEST(ByteWeights, ScalesGrowUntilABiasFits) {
  const std::vector<float> least{0.5F, 0};
  const ByteWeights bytes = bytes_of_weights(tensor({2, 1, 1}, {1, 1}), convolution(2, 1), least);
  EXPECT_EQ(bytes.scales[0], 0.5F);
  EXPECT_FLOAT_EQ(bytes.scales[1], 1.0F / 127);
}

TEST(ByteWeights, OfGroupedTransposedConvolutionsHaveOneScale) {
  Product product = convolution(4, 2);
  product.output_axis = 1, product.input_axis = 0;
  const ByteWeights bytes = bytes_of_weights(random_weights({6, 2, 3, 3}), product, {});
  EXPECT_EQ(bytes.axis, -1);
  EXPECT_EQ(bytes.scales.size(), 1u);
}

/// The mean of what a product lacks, by a loop over outputs, groups and inputs.
TEST(Correction, IsTheMeanThatBytesLack) {
  const Tensor before = random_weights({6, 2, 3});
  const Product product = convolution(6, 2);
  const Tensor after = floats_of(bytes_of_weights(before, product, {}));
  const std::vector<double> means{1, -2, 0.5, 30};
  const std::vector<double> missing = missing_means(before, after, product, means);
  ASSERT_EQ(missing.size(), 6u);
  for (std::size_t o = 0; o < 6; ++o) {
    double expected = 0;
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t i = (o * 2 + c) * 3 + k;
        expected += static_cast<double>(before.values<float>()[i] - after.values<float>()[i]) * means[o / 3 * 2 + c];
      }
    EXPECT_NEAR(missing[o], expected, 1e-6) << o;
  }
}

TEST(Correction, OfAMatrix) {
  const Tensor before = tensor({2, 2}, {1, 2, 3, 4}), after = tensor({2, 2}, {1, 2.5F, 2, 4});
  EXPECT_EQ(missing_means(before, after, matrix(2), std::vector<double>{10, 100}), (std::vector<double>{100, -5}));
  EXPECT_TRUE(missing_means(before, after, matrix(2), std::vector<double>{1}).empty()) << "means of other channels";
}

TEST(Nibbles, AreWithinAStepAndPadded) {
  const Tensor weights = random_weights({45, 3});
  const NibbleWeights nibbles = nibbles_of(weights);
  EXPECT_EQ(nibbles.packed.shape(), (Shape{3, 2, 16}));
  EXPECT_EQ(nibbles.scales.shape(), (Shape{6}));
  const Tensor back = floats_of(nibbles, 45);
  for (std::size_t i = 0; i < 45 * 3; ++i) {
    const float scale = std::abs(nibbles.scales.values<float>()[i % 3 * 2 + i / 3 / 32]);
    EXPECT_LE(std::abs(weights.values<float>()[i] - back.values<float>()[i]), 1.001F * scale) << i;
  }
  EXPECT_EQ(nibbles.packed.values<std::uint8_t>()[31], 0x88) << "behind the last row";
  EXPECT_GT(sqnr(weights.values<float>(), back.values<float>()), 17);
}

TEST(Sqnr, InDecibels) {
  EXPECT_NEAR(sqnr(std::vector<float>{10, 0}, std::vector<float>{9, 0}), 20, 1e-9);
  EXPECT_TRUE(std::isinf(sqnr(std::vector<float>{1}, std::vector<float>{1})));
}

}  // namespace
}  // namespace colonnade::quantize
