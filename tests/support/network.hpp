// SPDX-License-Identifier: Apache-2.0
// Builds channels-last networks of core operators, layer by layer; shapes are inferred at once.
#pragma once

#include <cmath>
#include <random>

#include "graph/graph.hpp"

namespace colonnade::test {

/// What a convolution is, besides its channels. Padding keeps the size at stride 1.
struct ConvSpec {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  UnaryKind activation = UnaryKind::identity;
  ValueId residual = kAbsent;
  std::int64_t height = 0;  ///< rows of the filter; 0: as many as columns
};

class Network {
 public:
  explicit Network(std::string name, std::uint32_t seed = 1) : random_(seed) { graph_.name = std::move(name); }

  ValueId input(Shape shape, DType dtype = DType::f32) {
    const ValueId id = graph_.add_value("x" + std::to_string(graph_.inputs.size()), {dtype, std::move(shape)});
    graph_.inputs.push_back(id);
    return id;
  }

  /// A constant of random elements in [-bound, bound).
  ValueId weights(Shape shape, float bound = 1) {
    Tensor tensor(DType::f32, std::move(shape));
    std::uniform_real_distribution<float> element(-bound, bound);
    for (float& x : tensor.values<float>()) x = element(random_);
    return graph_.add_constant("w", std::move(tensor));
  }

  ValueId floats(const std::vector<float>& values) {
    Tensor tensor(DType::f32, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.values<float>().begin());
    return graph_.add_constant("c", std::move(tensor));
  }

  ValueId node(Operator op, std::vector<ValueId> inputs) {
    Node node{std::move(op), std::move(inputs), {kAbsent}, "", "Test"};
    node.name = name_of(node.op) + std::to_string(graph_.nodes.size());
    const ValueType type = infer_types(graph_, node).front();
    node.outputs.front() = graph_.add_value("v" + std::to_string(graph_.nodes.size()), type);
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back().outputs.front();
  }

  ValueId conv(ValueId x, std::int64_t channels, ConvSpec spec = {}) {
    const std::int64_t in = shape(x).back() / spec.groups, height = spec.height == 0 ? spec.kernel : spec.height;
    const std::int64_t above = height / 2 * spec.dilation, pad = spec.kernel / 2 * spec.dilation;
    Conv op;
    op.kernel = {height, spec.kernel};
    op.strides = {spec.stride, spec.stride};
    op.dilations = {spec.dilation, spec.dilation};
    op.pads = {above, pad, above, pad};
    op.groups = spec.groups;
    op.epilogue.activation.kind = spec.activation;
    const float bound = std::sqrt(3.0f / static_cast<float>(in * height * spec.kernel));
    std::vector<ValueId> inputs{x, weights({channels, in, height, spec.kernel}, bound), weights({channels}, 0.5f)};
    if (spec.residual != kAbsent) {
      op.epilogue.residual = true;
      inputs.push_back(spec.residual);
    }
    return node(op, std::move(inputs));
  }

  ValueId depthwise(ValueId x, ConvSpec spec = {}) {
    spec.groups = shape(x).back();
    return conv(x, spec.groups, spec);
  }

  ValueId pool(ValueId x, PoolKind kind, std::int64_t kernel, std::int64_t stride) {
    const std::int64_t pad = (kernel - 1) / 2;
    return node(Pool{kind,
                     {kernel, kernel},
                     {stride, stride},
                     {1, 1},
                     {pad, pad, pad, pad},
                     AutoPad::explicit_pads,
                     false,
                     false,
                     2},
                {x});
  }

  ValueId unary(ValueId x, UnaryKind kind) { return node(Unary{kind, 0, kind == UnaryKind::clip ? 6.0f : 0.0f}, {x}); }
  ValueId relu(ValueId x) { return unary(x, UnaryKind::relu); }
  ValueId add(ValueId a, ValueId b) { return node(Binary{BinaryKind::add}, {a, b}); }
  ValueId concat(ValueId a, ValueId b) { return node(Concat{3}, {a, b}); }
  ValueId resize2(ValueId x, ResizeMode mode) {
    Resize op;
    op.mode = mode;
    return node(op, {x, kAbsent, floats({1, 2, 2, 1})});
  }
  ValueId channels(ValueId x, std::int64_t begin, std::int64_t end) {
    return node(Slice{}, {x, graph_.add_ints("c", {begin}), graph_.add_ints("c", {end}), graph_.add_ints("c", {3})});
  }
  ValueId pad(ValueId x, const Ints& pads, PadMode mode = PadMode::constant) {
    return node(Pad{mode}, {x, graph_.add_ints("c", pads)});
  }
  ValueId gather(ValueId x, const Ints& channels) { return node(Gather{3}, {x, graph_.add_ints("c", channels)}); }
  /// Channels of x times computed ones (shape [C]) plus computed ones, as a depthwise 1x1 convolution.
  ValueId scale(ValueId x, ValueId scales, ValueId shifts) {
    const std::int64_t count = shape(x).back();
    Conv conv;
    conv.kernel = conv.strides = conv.dilations = {1, 1};
    conv.pads = {0, 0, 0, 0};
    conv.groups = count;
    const ValueId weight = node(Reshape{}, {scales, graph_.add_ints("c", {count, 1, 1, 1})});
    return node(conv, {x, weight, node(Reshape{}, {shifts, graph_.add_ints("c", {count})})});
  }
  ValueId global_mean(ValueId x) { return node(Reduce{}, {x, graph_.add_ints("c", {1, 2})}); }

  void output(ValueId id) { graph_.outputs.push_back(id); }
  const Shape& shape(ValueId id) const { return graph_.value(id).type.static_shape(); }
  std::mt19937& random() { return random_; }
  Graph& graph() { return graph_; }
  Graph finish(ValueId result) {
    output(result);
    return finish();
  }
  Graph finish() {
    verify(graph_);
    return std::move(graph_);
  }

 private:
  Graph graph_;
  std::mt19937 random_;
};

}  // namespace colonnade::test
