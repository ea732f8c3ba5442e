// SPDX-License-Identifier: Apache-2.0
// Random channels-last networks: branches, joins, strides, several inputs, outputs and images.
#pragma once

#include <algorithm>

#include "support/known_networks.hpp"

namespace colonnade::test {

class RandomNetwork {
 public:
  explicit RandomNetwork(std::uint32_t seed) : net_("random " + std::to_string(seed), seed) {}

  Graph grow() {
    const Shape shape = first_shape();
    pool_.push_back(net_.input(shape));
    if (one_in(3)) pool_.push_back(net_.input(shape));
    const std::int64_t layers = 1 + pick(20);
    for (std::int64_t i = 0; i < layers; ++i) add_layer();
    net_.output(pool_.back());
    for (int extra = 0; extra < 2; ++extra)
      if (const ValueId id = any(); one_in(3) && is_free(id)) net_.output(id);
    remove_dead(net_.graph());
    return net_.finish();
  }

 private:
  static constexpr std::int64_t kMaxElements = 40000;

  std::int64_t pick(std::int64_t count) {
    return static_cast<std::int64_t>(net_.random()() % static_cast<std::uint32_t>(count));
  }
  bool one_in(std::int64_t count) { return pick(count) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[pick(static_cast<std::int64_t>(values.size()))];
  }

  /// Small pictures, single rows and now and then rows wide enough for strips.
  Shape first_shape() {
    const std::int64_t images = one_in(3) ? 2 + pick(2) : 1;
    if (one_in(5)) return {images, 4 + pick(12), 128 + pick(200), one_of<std::int64_t>({2, 4})};
    return {images, 1 + pick(32), 1 + pick(24), one_of<std::int64_t>({1, 3, 8, 16, 20})};
  }

  ValueId any() {
    const auto count = static_cast<std::int64_t>(pool_.size());
    return pool_[static_cast<std::size_t>(count - 1 - pick(std::min<std::int64_t>(5, count)))];
  }
  bool is_free(ValueId id) {
    const auto& outputs = net_.graph().outputs;
    return std::find(outputs.begin(), outputs.end(), id) == outputs.end();
  }
  /// Another value of x's shape, x itself at worst.
  ValueId partner(ValueId x) {
    for (int tries = 0; tries < 8; ++tries)
      if (const ValueId y = any(); net_.shape(y) == net_.shape(x)) return y;
    return x;
  }
  UnaryKind activation() {
    return one_of({UnaryKind::identity, UnaryKind::relu, UnaryKind::sigmoid, UnaryKind::hard_swish, UnaryKind::tanh,
                   UnaryKind::silu});
  }
  std::int64_t width() { return one_of<std::int64_t>({1, 3, 8, 16, 20, 32}); }
  void keep(ValueId id) { pool_.push_back(id); }

  void add_layer() {
    const ValueId x = any();
    const Shape shape = net_.shape(x);
    switch (pick(22)) {
      case 0:
      case 1:
      case 2: return keep(net_.conv(x, width(), {.kernel = 3, .activation = activation()}));
      case 3: return keep(net_.conv(x, width(), {.kernel = 5, .stride = 1 + pick(2), .activation = activation()}));
      case 4: return keep(net_.conv(x, width(), {.kernel = 3, .stride = 2}));
      case 5: return keep(net_.conv(x, width(), {.kernel = 1, .stride = 1 + pick(2), .activation = activation()}));
      case 6:
        return keep(net_.conv(x, shape.back(), {.kernel = 3, .activation = activation(), .residual = partner(x)}));
      case 7:
        return keep(net_.depthwise(
            x, {.kernel = one_of<std::int64_t>({3, 5}), .stride = 1 + pick(2), .activation = activation()}));
      case 8: return keep(net_.conv(x, width(), {.kernel = 3, .dilation = 2}));
      case 9:
        return keep(net_.pool(x, one_of({PoolKind::max, PoolKind::average}),
                              std::min(shape[1], shape[2]) < 2 ? 3 : 2 + pick(2), 1 + pick(2)));
      case 10: return keep(net_.unary(x, activation()));
      case 11: return keep(net_.add(x, partner(x)));
      case 12: return keep(net_.concat(x, partner(x)));
      case 13: return add_resize(x);
      case 14: return add_slice(x);
      case 15: return keep(net_.pad(x, {0, pick(3), pick(3), 0, 0, pick(3), pick(3), 0}, pad_mode(shape)));
      case 16: return keep(inverted_residual(net_, x, 128 + 32 * pick(2)));
      case 17: return add_gather(x);
      case 18: return add_split(x);
      case 19: return add_dense(x);
      case 20:
        if (shape[0] == 1) return keep(net_.scale(x, gate(x), gate(partner(x))));
        [[fallthrough]];
      default: return add_whole(x);
    }
  }

  ValueId gate(ValueId x) { return net_.unary(net_.global_mean(x), UnaryKind::sigmoid); }
  PadMode pad_mode(const Shape& shape) {
    return shape[1] > 2 && shape[2] > 2 ? one_of({PadMode::constant, PadMode::reflect, PadMode::edge})
                                        : PadMode::constant;
  }
  /// A channel shuffle, or any order of any channels.
  void add_gather(ValueId x) {
    const std::int64_t channels = net_.shape(x).back(), groups = one_of<std::int64_t>({2, 4});
    Ints order;
    for (std::int64_t c = 0; c < channels; ++c)
      order.push_back(channels % groups == 0 ? c % groups * (channels / groups) + c / groups : pick(channels));
    keep(net_.gather(x, order));
  }
  /// Halves of the channels go their own ways and meet again.
  void add_split(ValueId x) {
    const std::int64_t channels = net_.shape(x).back();
    if (channels < 2) return add_slice(x);
    const ValueId low = net_.channels(x, 0, channels / 2), high = net_.channels(x, channels / 2, channels);
    const ValueId worked = net_.conv(high, channels / 2, {.kernel = one_of<std::int64_t>({1, 3})});
    keep(one_in(2) ? net_.concat(low, worked) : net_.concat(net_.concat(low, high), worked));
  }
  /// A dense block: each layer reads all that came before.
  void add_dense(ValueId x) {
    for (std::int64_t layers = 1 + pick(3); layers > 0; --layers) {
      const ValueId fresh = net_.conv(net_.unary(x, activation()), one_of<std::int64_t>({3, 8}),
                                      {.kernel = one_of<std::int64_t>({1, 3})});
      x = net_.concat(x, fresh);
    }
    keep(x);
  }

  void add_resize(ValueId x) {
    if (element_count(net_.shape(x)) * 4 <= kMaxElements)
      keep(net_.resize2(x, one_of({ResizeMode::nearest, ResizeMode::linear})));
    else
      keep(net_.pool(x, PoolKind::max, 3, 2));
  }
  void add_slice(ValueId x) {
    const std::int64_t channels = net_.shape(x).back(), begin = pick(channels);
    keep(net_.channels(x, begin, begin + 1 + pick(channels - begin)));
  }
  /// Operators that see all rows, or all channels.
  void add_whole(ValueId x) {
    const std::int64_t channels = net_.shape(x).back();
    switch (pick(3)) {
      case 0: return keep(net_.node(Binary{BinaryKind::mul}, {x, gate(x)}));
      case 1: return keep(net_.node(Softmax{}, {x}));
      default:
        return keep(net_.node(LayerNorm{1e-2f, -1, false}, {x, net_.weights({channels}), net_.weights({channels})}));
    }
  }

  Network net_;
  std::vector<ValueId> pool_;
};

inline Graph random_network(std::uint32_t seed) { return RandomNetwork(seed).grow(); }

}  // namespace colonnade::test
