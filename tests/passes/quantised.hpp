// SPDX-License-Identifier: Apache-2.0
// Random quantised networks.
#pragma once

#include <cmath>

#include "passes/graphs.hpp"
#include "passes/passes.hpp"

namespace colonnade::test {

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
    return dequantised(name, std::move(tensor), axis, range / 127);
  }
  /// Unsigned, less zero points of which each takes some of them beyond signed bytes.
  ValueId wide_weights(const std::string& name, const Shape& shape, std::int64_t axis, float range) {
    Tensor tensor(DType::u8, shape);
    for (std::uint8_t& w : tensor.values<std::uint8_t>()) w = static_cast<std::uint8_t>(pick(256));
    Tensor zero(DType::u8, {pick(2) == 0 ? 1 : shape[static_cast<std::size_t>(axis)]});
    for (std::uint8_t& z : zero.values<std::uint8_t>()) z = static_cast<std::uint8_t>(1 + pick(254));
    return dequantised(name, std::move(tensor), axis, range / 254, b.graph.add_constant(name + ".z", std::move(zero)));
  }

  ValueId conv(const std::string& name, ValueId x, std::int64_t outputs, std::int64_t kernel, std::int64_t groups,
               std::int64_t stride = 1) {
    const std::int64_t inputs = b.shape(x)[1] / groups;
    const float range = 2 / std::sqrt(static_cast<float>(inputs * kernel * kernel));
    std::vector<ValueId> all{b.to_last(name + ".in", x),
                             groups == 1 && pick(3) == 0
                                 ? wide_weights(name + ".w", {outputs, inputs, kernel, kernel}, 0, range)
                                 : weights(name + ".w", {outputs, inputs, kernel, kernel}, 0, range)};
    if (pick(2) == 0) all.push_back(b.weights(name + ".b", {outputs}));
    Conv op;
    op.kernel = {kernel, kernel};
    op.strides = {stride, 1};
    op.dilations = {1, 1};
    op.pads = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
    op.groups = groups;
    return b.to_first(name + ".out", b.node(name, op, std::move(all)));
  }

  /// Windows side by side, or such that overlap: twice as wide and high as the input.
  ValueId transposed_conv(const std::string& name, ValueId x, std::int64_t outputs) {
    const std::int64_t kernel = 2 + pick(3), inputs = b.shape(x)[1];
    std::vector<ValueId> all{b.to_last(name + ".in", x),
                             weights(name + ".w", {inputs, outputs, kernel, kernel}, 1, 0.5f)};
    if (pick(2) == 0) all.push_back(b.weights(name + ".b", {outputs}));
    ConvTranspose op;
    op.kernel = {kernel, kernel};
    op.strides = {2, 2};
    op.dilations = {1, 1};
    const std::int64_t pad = (kernel - 1) / 2, more = kernel == 3 ? 1 : 0;
    op.pads = {pad, pad, pad, pad};
    op.output_padding = {more, more};
    return b.to_first(name + ".out", b.node(name, op, std::move(all)));
  }

  ValueId layer(const std::string& name, ValueId x) {
    const std::int64_t channels = b.shape(x)[1];
    switch (pick(12)) {
      case 0: {
        const std::int64_t outputs =
            pick(3) == 0 ? 16 + 8 * pick(6) : 4 + 4 * pick(3);  // of tiles, or too few for them
        return step(name, b.unary(name + ".act", UnaryKind::relu, conv(name, x, outputs, 3, 1, 1 + pick(2))));
      }
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
      case 8: return step(name, b.unary(name + ".act", UnaryKind::relu, transposed_conv(name, x, 4 + 4 * pick(2))));
      case 9: {
        const ValueId slope = b.weights(name + ".slope", {pick(2) == 0 ? 8 : 1, 1, 1}, -0.2f, 0.4f);
        return step(name, b.binary(name + ".act", BinaryKind::prelu, conv(name, x, 8, 3, 1), slope));
      }
      case 10: return step(name, b.unary(name + ".act", UnaryKind::leaky_relu, conv(name, x, 8, 1, 1), 0.1f));
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
  ValueId dequantised(const std::string& name, Tensor bytes, std::int64_t axis, float scale, ValueId zero = kAbsent) {
    const std::int64_t channels = bytes.shape()[static_cast<std::size_t>(axis)];
    const ValueId scales = b.weights(name + ".s", {pick(3) > 0 ? channels : 1}, 0.2f * scale, scale);
    std::vector<ValueId> inputs{b.graph.add_constant(name + ".q", std::move(bytes)), scales};
    if (zero != kAbsent) inputs.push_back(zero);
    return b.node(name, Dequantize{axis}, std::move(inputs));
  }

  DType type_;
};

/// Sums, functions, pools and moves, as many as are asked for.
inline Graph random_quantised(std::uint32_t seed, DType type, Shape shape, int layers) {
  Quantised net(seed, type);
  ValueId x = net.step("x", net.b.input("in", std::move(shape)));
  for (int i = 0; i < layers; ++i) x = net.layer("n" + std::to_string(i), x);
  net.b.output(x);
  return net.b.graph;
}

/// As it runs, once the passes are through.
inline Graph in_bytes(const Graph& graph) {
  Graph result = graph;
  PassOptions options;
  options.verify = true;
  optimize(result, options);
  return result;
}

}  // namespace colonnade::test
