// SPDX-License-Identifier: Apache-2.0
#include "passes/graphs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "passes/passes.hpp"
#include "reference/reference.hpp"

namespace colonnade::test {

ValueId Builder::input(const std::string& name, Shape shape, DType dtype) {
  graph.inputs.push_back(graph.add_value(name, {dtype, std::move(shape)}));
  return graph.inputs.back();
}

ValueId Builder::weights(const std::string& name, Shape shape, float low, float high) {
  Tensor tensor(DType::f32, std::move(shape));
  std::uniform_real_distribution<float> distribution(low, high);
  for (float& value : tensor.values<float>()) value = distribution(random_);
  return graph.add_constant(name, std::move(tensor));
}

ValueId Builder::floats(const std::string& name, Shape shape, const std::vector<float>& values) {
  Tensor tensor(DType::f32, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.values<float>().begin());
  return graph.add_constant(name, std::move(tensor));
}

ValueId Builder::scalar(const std::string& name, float value) { return floats(name, {}, {value}); }

ValueId Builder::node(const std::string& name, Operator op, std::vector<ValueId> inputs) {
  Node node{std::move(op), std::move(inputs), {}, name, ""};
  node.origin = name_of(node.op);
  const std::size_t count =
      std::holds_alternative<Split>(node.op) || std::holds_alternative<ByteScale>(node.op) ? 2 : 1;
  node.outputs.assign(count, kAbsent);
  const std::vector<ValueType> types = infer_types(graph, node);
  for (std::size_t i = 0; i < count; ++i) {
    node.outputs[i] = graph.add_value(i == 0 ? name : name + "." + std::to_string(i), types[i]);
  }
  graph.nodes.push_back(node);
  return node.outputs[0];
}

ValueId Builder::conv(const std::string& name, ValueId x, std::int64_t channels, std::int64_t kernel, bool depthwise) {
  const std::int64_t in = shape(x)[1], pad = kernel / 2;
  const std::int64_t out = depthwise ? in : channels, group_in = depthwise ? 1 : in;
  const float range = 1.5f / std::sqrt(static_cast<float>(group_in * kernel * kernel));
  const ValueId w = weights(name + ".w", {out, group_in, kernel, kernel}, -range, range);
  const ValueId b = weights(name + ".b", {out});
  Conv conv;
  conv.kernel = {kernel, kernel};
  conv.strides = conv.dilations = {1, 1};
  conv.pads = {pad, pad, pad, pad};
  conv.groups = depthwise ? in : 1;
  return to_first(name + ".out", node(name, conv, {to_last(name + ".in", x), w, b}));
}

ValueId Builder::batch_norm(const std::string& name, ValueId x, std::int64_t axis) {
  const std::int64_t channels = shape(x)[static_cast<std::size_t>(axis)];
  return node(name, BatchNorm{1e-5f, axis},
              {x, weights(name + ".scale", {channels}, 0.5f, 1.5f), weights(name + ".bias", {channels}),
               weights(name + ".mean", {channels}), weights(name + ".var", {channels}, 0.5f, 2)});
}

std::vector<Tensor> inputs_for(const Graph& graph, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(-2, 2);
  std::vector<Tensor> tensors;
  for (const ValueId id : graph.inputs) {
    Tensor tensor(graph.value(id).type.dtype, graph.value(id).type.static_shape());
    if (tensor.dtype() == DType::f32) {
      for (float& value : tensor.values<float>()) value = distribution(random);
    } else if (tensor.dtype() == DType::i64) {
      for (std::int64_t& value : tensor.values<std::int64_t>()) value = static_cast<std::int64_t>(random() % 2);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

namespace {

/// Rounding of every intermediate value to float16, which the passes leave out.
constexpr double kHalfTolerance = 1e-2;

Tensor to_f32(const Tensor& tensor) {
  const Node node{Cast{DType::f32}, {0}, {1}, "widen", "Cast"};
  const Tensor* const input = &tensor;
  return std::move(reference::evaluate(node, {&input, 1}).at(0));
}

void expect_near(const Tensor& expected, const Tensor& found, double tolerance, const std::string& name) {
  ASSERT_EQ(expected.shape(), found.shape()) << name;
  ASSERT_EQ(expected.dtype(), found.dtype()) << name;
  if (expected.dtype() == DType::f16) {
    return expect_near(to_f32(expected), to_f32(found), std::max(tolerance, kHalfTolerance), name);
  }
  if (expected.dtype() != DType::f32) {
    const auto* a = static_cast<const char*>(expected.data());
    const auto* b = static_cast<const char*>(found.data());
    EXPECT_TRUE(expected.byte_size() == 0 || std::equal(a, a + expected.byte_size(), b)) << name;
    return;
  }
  const auto a = expected.values<float>(), b = found.values<float>();
  double largest = 1, error = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(a[i])));
    error = std::max(error, static_cast<double>(std::abs(a[i] - b[i])));
    ASSERT_EQ(std::isnan(a[i]), std::isnan(b[i])) << name << " element " << i;
  }
  EXPECT_LE(error, tolerance * largest) << name;
}

}  // namespace

void expect_same_results(const Graph& before, const Graph& after, std::uint32_t seed, double tolerance) {
  ASSERT_EQ(before.inputs.size(), after.inputs.size());
  ASSERT_EQ(before.outputs.size(), after.outputs.size());
  for (std::size_t i = 0; i < before.inputs.size(); ++i) {
    EXPECT_EQ(before.value(before.inputs[i]).name, after.value(after.inputs[i]).name);
  }
  const std::vector<Tensor> inputs = inputs_for(before, seed);
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  const std::vector<Tensor> expected = reference::evaluate(before, views);
  const std::vector<Tensor> found = reference::evaluate(after, views);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string& name = before.value(before.outputs[i]).name;
    EXPECT_EQ(name, after.value(after.outputs[i]).name);
    expect_near(expected[i], found[i], tolerance, name);
  }
}

std::string operators_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += (text.empty() ? "" : " ") + name_of(node.op);
  return text;
}

void expect_settled(Graph graph) {
  PassOptions options;
  options.observer = [](const PassTrace& trace, const Graph&) {
    EXPECT_FALSE(trace.changed) << trace.pass << " changes what all passes have made";
  };
  optimize(graph, options);
}

Graph optimized(const Graph& graph) {
  Graph result = graph;
  PassOptions options;
  options.verify = true;
  optimize(result, options);
  expect_same_results(graph, result, 5);
  expect_settled(result);
  return result;
}

}  // namespace colonnade::test
