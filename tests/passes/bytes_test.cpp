// SPDX-License-Identifier: Apache-2.0
// Quantised networks computed in bytes: which operators become of them, and that they mean what was written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "passes/graphs.hpp"
#include "passes/pass_list.hpp"
#include "passes/passes.hpp"
#include "reference/reference.hpp"

namespace colonnade::test {
namespace {

/// Grows networks as quantisers write them: every step between a Dequantize and a Quantize.
class Quantised {
 public:
  explicit Quantised(std::uint32_t seed, DType type = DType::u8) : b(seed), type_(type) {}

  Builder b;

  std::int64_t pick(std::int64_t count) {
    return static_cast<std::int64_t>(b.random()() % static_cast<std::uint32_t>(count));
  }
  float real(float low, float high) { return std::uniform_real_distribution<float>(low, high)(b.random()); }

  ValueId byte(const std::string& name, std::int64_t value, DType type) {
    Tensor tensor(type, {});
    *static_cast<std::uint8_t*>(tensor.data()) = static_cast<std::uint8_t>(value);
    return b.graph.add_constant(name, std::move(tensor));
  }

  /// Zero points at the ends too.
  ValueId quantise(const std::string& name, ValueId x, float scale) {
    const std::int64_t ends[] = {0, 255, 128, 117, 1};
    const std::int64_t zero = ends[pick(5)] - (type_ == DType::i8 ? 128 : 0);
    const ValueId s = b.scalar(name + ".s", scale), z = byte(name + ".z", zero, type_);
    return b.node(name + ".dq", Dequantize{}, {b.node(name + ".q", Quantize{type_}, {x, s, z}), s, z});
  }

  ValueId weights(const std::string& name, const Shape& shape, std::int64_t axis, float range) {
    Tensor tensor(DType::i8, shape);
    for (std::int8_t& w : tensor.values<std::int8_t>()) w = static_cast<std::int8_t>(pick(255) - 127);
    const std::int64_t channels = shape[static_cast<std::size_t>(axis)];
    const bool each = pick(3) > 0;
    const ValueId scale = b.weights(name + ".s", {each ? channels : 1}, 0.2f * range / 127, range / 127);
    return b.node(name, Dequantize{axis}, {b.graph.add_constant(name + ".q", std::move(tensor)), scale});
  }

  ValueId conv(const std::string& name, ValueId x, std::int64_t outputs, std::int64_t kernel, std::int64_t groups,
               std::int64_t stride = 1) {
    const std::int64_t inputs = b.shape(x)[1] / groups;
    const float range = 2 / std::sqrt(static_cast<float>(inputs * kernel * kernel));
    std::vector<ValueId> all{b.to_last(name + ".in", x),
                             weights(name + ".w", {outputs, inputs, kernel, kernel}, 0, range)};
    if (pick(2) == 0) all.push_back(b.weights(name + ".b", {outputs}));
    Conv op;
    op.kernel = {kernel, kernel};
    op.strides = {stride, 1};
    op.dilations = {1, 1};
    op.pads = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
    op.groups = groups;
    return b.to_first(name + ".out", b.node(name, op, std::move(all)));
  }

  ValueId layer(const std::string& name, ValueId x) {
    const std::int64_t channels = b.shape(x)[1];
    switch (pick(9)) {
      case 0:
        return step(name, b.unary(name + ".act", UnaryKind::relu, conv(name, x, 4 + 4 * pick(3), 3, 1, 1 + pick(2))));
      case 1: return step(name, b.unary(name + ".act", UnaryKind::clip, conv(name, x, 8, 1, 1), 0, 1.5f));
      case 2: return step(name, conv(name, x, channels, 3, channels, 1 + pick(2)));
      case 3:
        return step(name, b.binary(name, BinaryKind::mul, x,
                                   step(name + ".gate", b.unary(name + ".sig", UnaryKind::sigmoid, x))));
      case 4:
        return step(name,
                    b.binary(name, BinaryKind::add, x, step(name + ".other", conv(name + ".c", x, channels, 1, 1))));
      case 5:
        return step(name, b.node(name, Concat{1}, {x, step(name + ".part", b.unary(name + ".u", UnaryKind::tanh, x))}));
      case 6: return step(name, squeeze_excite(name, x));
      case 7: return step(name, b.unary(name, UnaryKind::hard_swish, x));
      default: return step(name, b.transpose(name + ".t", x, {0, 1, 3, 2}));
    }
  }

  ValueId squeeze_excite(const std::string& name, ValueId x) {
    const ValueId axes = b.ints(name + ".axes", {2, 3});
    const ValueId mean = step(name + ".m", b.node(name + ".mean", Reduce{ReduceKind::mean}, {x, axes}));
    const ValueId gate = step(name + ".g", conv(name + ".c", mean, b.shape(x)[1], 1, 1));
    return b.binary(name, BinaryKind::mul, x, step(name + ".h", b.unary(name + ".s", UnaryKind::sigmoid, gate)));
  }

  ValueId step(const std::string& name, ValueId x) { return quantise(name + ".step", x, real(0.005f, 0.03f)); }

 private:
  DType type_;
};

/// The largest difference, and the share of elements that differ.
struct Difference {
  double most = 0, share = 0;
};

Difference difference_of(const Graph& before, const Graph& after, std::uint32_t seed) {
  const std::vector<Tensor> inputs = random_inputs(before, seed);
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

Graph in_bytes(const Graph& graph) {
  Graph result = graph;
  PassOptions options;
  options.verify = true;
  optimize(result, options);
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
    ValueId y = net.b.node("y", MatMul{}, {x, net.weights("w", {8, 12}, 1, 0.5f)});
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
