// SPDX-License-Identifier: Apache-2.0
// Random networks compute the same before and after the passes.
#include <gtest/gtest.h>

#include "passes/graphs.hpp"
#include "passes/passes.hpp"

namespace colonnade::test {
namespace {

/// Grows a network of rank-4 channels-first values, one random layer at a time.
class Grower {
 public:
  explicit Grower(std::uint32_t seed) : b_(seed) {
    pool_.push_back(b_.input("x", {1 + pick(2), 4, 6, 8}));
    if (pick(3) == 0) pool_.push_back(b_.input("x2", b_.shape(pool_[0])));
  }

  Graph grow(int layers) {
    for (int i = 0; i < layers; ++i) add_layer("n" + std::to_string(i));
    b_.output(pool_.back());
    if (pick(2) == 0) b_.output(pool_[static_cast<std::size_t>(pick(static_cast<std::int64_t>(pool_.size())))]);
    if (pick(2) == 0) add_head();
    return b_.graph;
  }

 private:
  std::int64_t pick(std::int64_t count) {
    return static_cast<std::int64_t>(b_.random()() % static_cast<std::uint32_t>(count));
  }
  ValueId any() {
    const std::int64_t recent = std::min<std::int64_t>(4, static_cast<std::int64_t>(pool_.size()));
    return pool_[pool_.size() - 1 - static_cast<std::size_t>(pick(recent))];
  }
  /// A value of the same shape as x, x itself at worst.
  ValueId partner(ValueId x) {
    for (int tries = 0; tries < 6; ++tries) {
      const ValueId y = any();
      if (b_.shape(y) == b_.shape(x)) return y;
    }
    return x;
  }

  void add_layer(const std::string& name) {
    const ValueId x = any();
    const Shape shape = b_.shape(x);
    switch (pick(22)) {
      case 0: return keep(b_.conv(name, x, 4 + 2 * pick(3), 3));
      case 1: return keep(b_.conv(name, x, 4 + 4 * pick(2), 1));
      case 2: return keep(b_.conv(name, x, 0, 3, true));
      case 3: return keep(b_.batch_norm(name, x));
      case 4: return keep(b_.unary(name, UnaryKind::relu, x));
      case 5: return keep(b_.binary(name, BinaryKind::mul, x, b_.unary(name + ".s", UnaryKind::sigmoid, x)));
      case 6: return keep(hard_swish(name, x));
      case 7: return keep(b_.binary(name, BinaryKind::add, x, partner(x)));
      case 8: return keep(b_.binary(name, BinaryKind::mul, x, b_.weights(name + ".c", {shape[1], 1, 1})));
      case 9: return keep(b_.binary(name, BinaryKind::sub, b_.scalar(name + ".c", 0.5f), x));
      case 10: return keep(b_.node(name, Concat{1}, {x, partner(x)}));
      case 11: return keep(squeeze_excite(name, x));
      case 12: return keep(pooled(name, x));
      case 13: return keep(shuffled(name, x));
      case 14: return keep(split(name, x));
      case 15: return keep(b_.node(name, Softmax{1, false}, {x}));
      case 16: return keep(b_.binary(name, BinaryKind::prelu, x, b_.weights(name + ".slope", {shape[1], 1, 1}, 0, 1)));
      case 17: return keep(resized(name, x));
      case 18: return keep(padded(name, x));
      case 19: return keep(tokens(name, x));
      case 20:
        return keep(b_.node(name, InstanceNorm{1e-2f, 1},
                            {x, b_.weights(name + ".g", {shape[1]}, 0.5f, 1.5f), b_.weights(name + ".b", {shape[1]})}));
      default: return keep(layer_norm(name, x));
    }
  }

  void keep(ValueId id) {
    if (element_count(b_.shape(id)) < 20000) pool_.push_back(id);
  }

  ValueId hard_swish(const std::string& name, ValueId x) {
    const ValueId shifted = b_.binary(name + ".plus", BinaryKind::add, x, b_.scalar(name + ".3", 3));
    const ValueId gate = b_.unary(name + ".clip", UnaryKind::clip, shifted, 0, 6);
    const ValueId product = b_.binary(name + ".mul", BinaryKind::mul, x, gate);
    return b_.binary(name, BinaryKind::div, product, b_.scalar(name + ".6", 6));
  }

  ValueId squeeze_excite(const std::string& name, ValueId x) {
    const std::int64_t channels = b_.shape(x)[1];
    const ValueId mean = b_.node(name + ".mean", Reduce{ReduceKind::mean, true}, {x, b_.ints(name + ".hw", {2, 3})});
    if (pick(2) == 0) {
      const ValueId squeezed = b_.unary(name + ".relu", UnaryKind::relu, b_.conv(name + ".down", mean, 2, 1));
      const ValueId gate = b_.unary(name + ".gate", UnaryKind::sigmoid, b_.conv(name + ".up", squeezed, channels, 1));
      return b_.binary(name, BinaryKind::mul, x, gate);
    }
    const ValueId flat = b_.node(name + ".flat", Flatten{1}, {mean});
    const ValueId dense = b_.node(name + ".fc", MatMul{}, {flat, b_.weights(name + ".w", {channels, channels})});
    const ValueId biased = b_.binary(name + ".bias", BinaryKind::add, dense, b_.weights(name + ".b", {channels}));
    const ValueId gate = b_.unary(name + ".gate", UnaryKind::sigmoid, biased);
    const ValueId whole = b_.node(name + ".un", Unsqueeze{}, {gate, b_.ints(name + ".axes", {2, 3})});
    return b_.binary(name, BinaryKind::mul, x, whole);
  }

  ValueId pooled(const std::string& name, ValueId x) {
    const Pool pool{pick(2) == 0 ? PoolKind::max : PoolKind::average, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
    return b_.to_first(name, b_.node(name + ".pool", pool, {b_.to_last(name + ".in", x)}));
  }

  ValueId shuffled(const std::string& name, ValueId x) {
    const Shape shape = b_.shape(x);
    const Ints grouped{shape[0], 2, shape[1] / 2, shape[2], shape[3]};
    const ValueId groups = b_.node(name + ".group", Reshape{}, {x, b_.ints(name + ".5d", grouped)});
    const ValueId swapped = b_.transpose(name + ".swap", groups, {0, 2, 1, 3, 4});
    return b_.node(name, Reshape{}, {swapped, b_.ints(name + ".4d", shape)});
  }

  ValueId split(const std::string& name, ValueId x) {
    const ValueId half = b_.node(name + ".split", Split{1}, {x});
    const ValueId other = b_.graph.nodes.back().outputs[1];
    return b_.node(name, Concat{1}, {b_.unary(name + ".act", UnaryKind::tanh, other), half});
  }

  ValueId resized(const std::string& name, ValueId x) {
    const ValueId scales = b_.floats(name + ".scales", {4}, {1, 1, 1.5f, 0.75f});
    Resize resize;
    resize.mode = pick(2) == 0 ? ResizeMode::nearest : ResizeMode::linear;
    return b_.node(name, resize, {x, kAbsent, scales});
  }

  ValueId padded(const std::string& name, ValueId x) {
    const ValueId padded = b_.node(name + ".pad", Pad{}, {x, b_.ints(name + ".pads", {0, 0, 1, 0, 0, 0, 0, 1})});
    return b_.node(
        name, Slice{},
        {padded, b_.ints(name + ".from", {1, 0}), b_.ints(name + ".to", {100, -1}), b_.ints(name + ".axes", {2, -1})});
  }

  /// Pixels as tokens through a dense layer and back.
  ValueId tokens(const std::string& name, ValueId x) {
    const Shape shape = b_.shape(x);
    const ValueId flat =
        b_.node(name + ".flat", Reshape{}, {x, b_.ints(name + ".3d", {shape[0], shape[1], shape[2] * shape[3]})});
    const ValueId rows = b_.transpose(name + ".rows", flat, {0, 2, 1});
    const ValueId dense =
        b_.node(name + ".fc", MatMul{}, {rows, b_.weights(name + ".w", {shape[1], shape[1]}, -.5f, .5f)});
    const ValueId back = b_.transpose(name + ".back", dense, {0, 2, 1});
    return b_.node(name, Reshape{}, {back, b_.ints(name + ".4d", shape)});
  }

  ValueId layer_norm(const std::string& name, ValueId x) {
    const std::int64_t axis = 1 + pick(3);
    const ValueId axes = b_.ints(name + ".axes", {axis});
    const ValueId mean = b_.node(name + ".mean", Reduce{ReduceKind::mean, true}, {x, axes});
    const ValueId centred = b_.binary(name + ".sub", BinaryKind::sub, x, mean);
    const ValueId squared = b_.binary(name + ".pow", BinaryKind::pow, centred, b_.scalar(name + ".2", 2));
    const ValueId variance = b_.node(name + ".var", Reduce{ReduceKind::mean, true}, {squared, axes});
    const ValueId sum = b_.binary(name + ".add", BinaryKind::add, variance, b_.scalar(name + ".eps", 0.1f));
    return b_.binary(name, BinaryKind::div, centred, b_.unary(name + ".sqrt", UnaryKind::sqrt, sum));
  }

  void add_head() {
    const ValueId x = pool_.back();
    const Shape shape = b_.shape(x);
    const ValueId flat = b_.node("head.flat", Flatten{1}, {x});
    const ValueId w = b_.weights("head.w", {shape[1] * shape[2] * shape[3], 5}, -0.2f, 0.2f);
    b_.output(b_.node("head", MatMul{}, {flat, w, b_.weights("head.b", {5})}));
  }

  Builder b_;
  std::vector<ValueId> pool_;
};

class RandomGraph : public ::testing::TestWithParam<int> {};

TEST_P(RandomGraph, ComputesTheSame) {
  for (int round = 0; round < 25; ++round) {
    const auto seed = static_cast<std::uint32_t>(GetParam() * 1000 + round);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph before = Grower(seed).grow(3 + round);
    verify(before);
    Graph after = before;
    optimize(after);
    expect_same_results(before, after, seed);
    if (HasFailure()) FAIL() << to_text(before) << "\n" << to_text(after);
  }
}

TEST_P(RandomGraph, IsAtItsFixedPoint) {
  const auto seed = static_cast<std::uint32_t>(GetParam() * 1000 + 24);
  Graph graph = Grower(seed).grow(15);
  optimize(graph);
  const std::string once = to_text(graph);
  optimize(graph);
  EXPECT_EQ(once, to_text(graph)) << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraph, ::testing::Range(0, 8));

}  // namespace
}  // namespace colonnade::test
