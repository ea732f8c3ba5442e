// SPDX-License-Identifier: Apache-2.0
// Quantised networks computed in bytes: which operators become of them, and that they mean what was written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "passes/quantised.hpp"
#include "reference/reference.hpp"

namespace colonnade::test {
namespace {

/// The largest difference, and the share of elements that differ.
struct Difference {
  double most = 0, share = 0;
};

Difference difference_of(const Graph& before, const Graph& after, std::uint32_t seed) {
  const std::vector<Tensor> inputs = inputs_for(before, seed);
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  const Tensor expected = reference::evaluate(before, views)[0], found = reference::evaluate(after, views)[0];
  EXPECT_EQ(expected.shape(), found.shape());
  Difference result;
  for (std::size_t i = 0; i < expected.values<float>().size(); ++i) {
    const double apart = std::abs(static_cast<double>(expected.values<float>()[i] - found.values<float>()[i]));
    result.most = std::max(result.most, apart);
    result.share += apart > 0 ? 1 / static_cast<double>(expected.size()) : 0;
  }
  return result;
}

TEST(Bytes, NoNumbersAreLeftBetweenTheEnds) {
  for (const DType type : {DType::u8, DType::i8})
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(seed);
      Quantised net(seed, type);
      ValueId x = net.step("x", net.b.input("in", {1, 4 + 4 * net.pick(2), 6, 7}));
      for (int i = 0; i < 5; ++i) x = net.layer("n" + std::to_string(i), x);
      net.b.output(x);
      const Graph after = in_bytes(net.b.graph);
      EXPECT_EQ(count_of<Quantize>(after), 1) << operators_of(after);
      EXPECT_EQ(count_of<Dequantize>(after), 1) << operators_of(after);
      EXPECT_EQ(count_of<Conv>(after) + count_of<Binary>(after) + count_of<Unary>(after), 0) << operators_of(after);
      EXPECT_EQ(count_of<ConvTranspose>(after), 0) << operators_of(after);
    }
}

/// Blocks of column-row-depth order, and shuffles: the convolution makes its channels in their order.
TEST(Bytes, ChannelsAreMadeInTheOrderAskedFor) {
  for (const DType type : {DType::u8, DType::i8})
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(seed);
      Quantised net(seed, type);
      ValueId x = net.step("x", net.b.input("in", {1, 8, 6, 7}));
      x = net.conv("c", x, 12, net.pick(2) == 0 ? 1 : 3, 1);
      if (net.pick(2) == 0)
        x = net.b.binary("p", BinaryKind::prelu, x, net.b.weights("p.slope", {12, 1, 1}, -0.2f, 0.4f));
      x = net.b.node("blocks", DepthToSpace{2, true, 1}, {net.step("c", x)});
      net.b.output(net.step("y", x));
      const Graph after = in_bytes(net.b.graph);
      EXPECT_EQ(count_of<Gather>(after), 0) << operators_of(after);
      EXPECT_EQ(count_of<ByteConv>(after), 1) << operators_of(after);
      EXPECT_LE(difference_of(net.b.graph, after, seed).most, 0.0301) << operators_of(after);
    }
}

/// Parameters of one column are one a column, too.
TEST(Bytes, AColumnIsMadeAsOftenAsAskedFor) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Quantised net(seed);
    ValueId x = net.step("x", net.b.input("in", {5, 24}));
    x = net.b.node("m", MatMul{}, {x, net.weights("w", {24, 1}, 1, 0.4f), net.b.weights("b", {1})});
    x = net.b.node("thrice", Gather{1}, {net.step("m", x), net.b.ints("which", {0, 0, 0})});
    net.b.output(net.step("y", x));
    const Graph after = in_bytes(net.b.graph);
    EXPECT_EQ(count_of<Gather>(after), 0) << operators_of(after);
    EXPECT_LE(difference_of(net.b.graph, after, seed).most, 0.0301) << operators_of(after);
  }
}

/// Columns of a product that are read, in their order.
TEST(Bytes, ColumnsAreMadeInTheOrderAskedFor) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Quantised net(seed);
    ValueId x = net.step("x", net.b.input("in", {5, 24}));
    x = net.step("m", net.b.node("m", MatMul{}, {x, net.weights("w", {24, 20}, 1, 0.4f)}));
    x = net.b.node("some", Gather{1}, {x, net.b.ints("which", {7, 19, 0, 3, 12, 4, 18, 1})});
    net.b.output(net.step("y", x));
    const Graph after = in_bytes(net.b.graph);
    EXPECT_EQ(count_of<Gather>(after), 0) << operators_of(after);
    EXPECT_EQ(count_of<ByteMatMul>(after), 1) << operators_of(after);
    EXPECT_LE(difference_of(net.b.graph, after, seed).most, 0.0301) << operators_of(after);
  }
}

/// One layer at a time: a step of rounding in one layer becomes larger in the next.
TEST(Bytes, LayersMeanWhatWasWritten) {
  std::int64_t layers = 0;
  double differing = 0;
  for (const DType type : {DType::u8, DType::i8})
    for (std::uint32_t seed = 0; seed < 150; ++seed) {
      SCOPED_TRACE(seed);
      Quantised net(seed, type);
      const ValueId x = net.step("x", net.b.input("in", {2, 4 + 4 * net.pick(2), 6, 7}));
      net.b.output(net.layer("n", x));
      const Difference difference = difference_of(net.b.graph, in_bytes(net.b.graph), seed);
      EXPECT_LE(difference.most, 0.0301) << operators_of(net.b.graph);
      EXPECT_LE(difference.share, 0.02) << operators_of(net.b.graph);
      differing += difference.share;
      ++layers;
    }
  EXPECT_LE(differing / static_cast<double>(layers), 0.001);
}

TEST(Bytes, ProductsWithBiasesAndFloatEnds) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    Quantised net(seed);
    const ValueId x = net.step("x", net.b.input("in", {2, 3, 8}));
    const ValueId w = net.pick(2) == 0 ? net.weights("w", {8, 12}, 1, 0.5f) : net.wide_weights("w", {8, 12}, 1, 0.5f);
    ValueId y = net.b.node("y", MatMul{}, {x, w});
    if (net.pick(2) == 0) y = net.b.binary("sum", BinaryKind::add, y, net.b.weights("bias", {12}));
    net.b.output(y);
    const Graph after = in_bytes(net.b.graph);
    EXPECT_EQ(operators_of(after), "Quantize ByteMatMul");
    EXPECT_LE(difference_of(net.b.graph, after, seed).most, 1e-5);
  }
}

TEST(Bytes, WeightsThatNothingTakesAreNumbers) {
  Quantised net(3);
  const ValueId x = net.b.input("in", {1, 8, 6, 7});
  net.b.output(net.conv("c", x, 8, 3, 1));
  const Graph after = in_bytes(net.b.graph);
  EXPECT_EQ(count_of<Dequantize>(after), 0);
  EXPECT_EQ(count_of<Conv>(after), 1);
  EXPECT_LE(difference_of(net.b.graph, after, 1).most, 1e-5);
}

TEST(Bytes, AValueThatIsAlsoReadAsANumberKeepsIt) {
  Quantised net(5);
  const ValueId x = net.step("x", net.b.input("in", {1, 8, 6, 7}));
  const ValueId sum = net.conv("c", x, 8, 3, 1);
  net.b.output(net.b.binary("both", BinaryKind::add, sum, net.step("y", sum)));
  const Graph after = in_bytes(net.b.graph);
  EXPECT_EQ(count_of<ByteConv>(after), 1) << operators_of(after);
  EXPECT_LE(difference_of(net.b.graph, after, 2).most, 0.0301);
}

}  // namespace
}  // namespace colonnade::test
