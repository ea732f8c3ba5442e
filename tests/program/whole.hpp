// SPDX-License-Identifier: Apache-2.0
// One operator on whole tensors, by the family that ought to run it, beside the reference.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "families/table.hpp"
#include "reference/elements.hpp"
#include "reference/reference.hpp"
#include "support/execute.hpp"
#include "support/known_blocking.hpp"

namespace colonnade::test::whole {

struct Input {
  DType dtype = DType::f32;
  Shape shape;
  std::optional<Tensor> constant;
};

inline Tensor random_tensor(DType dtype, const Shape& shape, unsigned seed, double low = -3, double high = 3) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& x : values) x = dtype == DType::boolean ? double(generator() % 2) : uniform(generator);
  return reference::tensor_of(dtype, shape, values);
}

inline Tensor index_tensor(const Shape& shape, const Ints& values, DType dtype = DType::i64) {
  return reference::tensor_of(dtype, shape, values);
}

inline Input computed(DType dtype, Shape shape) { return {dtype, std::move(shape), std::nullopt}; }
inline Input constant(Tensor tensor) { return {tensor.dtype(), tensor.shape(), std::move(tensor)}; }
inline Input absent() { return {DType::undefined, {}, std::nullopt}; }

/// A graph of one node.
inline Graph single(Operator op, const std::vector<Input>& inputs, std::size_t outputs) {
  Graph graph;
  Node node{std::move(op), {}, {}, "subject", "Test"};
  for (const Input& input : inputs) {
    if (input.dtype == DType::undefined) {
      node.inputs.push_back(kAbsent);
    } else if (input.constant) {
      node.inputs.push_back(graph.add_constant("c", *input.constant));
    } else {
      node.inputs.push_back(graph.add_value("x", {input.dtype, input.shape}));
      graph.inputs.push_back(node.inputs.back());
    }
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back(graph.add_value("y"));
    graph.outputs.push_back(node.outputs.back());
  }
  graph.nodes.push_back(std::move(node));
  infer_types(graph);
  return graph;
}

inline std::vector<Tensor> inputs_of(const Graph& graph, unsigned seed) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs)
    inputs.push_back(random_tensor(graph.value(id).type.dtype, graph.value(id).type.static_shape(), seed++));
  return inputs;
}

inline void expect_close(const std::vector<Tensor>& found, const std::vector<Tensor>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].dtype(), expected[i].dtype());
    ASSERT_EQ(found[i].shape(), expected[i].shape());
    const auto a = reference::load_all<double>(found[i]), b = reference::load_all<double>(expected[i]);
    for (std::size_t k = 0; k < a.size(); ++k)
      EXPECT_TRUE(a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k])) || std::abs(a[k] - b[k]) <= tolerance)
          << "output " << i << ", element " << k << ": " << a[k] << ", expected " << b[k];
  }
}

/// The node runs by `family` and agrees with the reference.
inline void check(const Graph& graph, const Family& family, const std::vector<Tensor>& inputs, double tolerance = 0) {
  SCOPED_TRACE(to_text(graph));
  EXPECT_EQ(choose_family(graph, graph.nodes[0], Math::fast, kernels::Isa::avx512, known_blocking()).family->name,
            family.name);
  const std::vector<Tensor> expected = reference::evaluate(graph, views_of(inputs));
  for (const kernels::Isa isa : host_isas()) {
    SCOPED_TRACE(kernels::name_of(isa));
    const std::vector<Tensor> one = run(graph, {Schedule::layers, Math::fast, 1, 0}, isa, inputs);
    expect_close(one, expected, tolerance);
    for (const Schedule schedule : {Schedule::columns, Schedule::automatic})
      for (const int threads : {1, 2, 3})
        EXPECT_TRUE(same_bits(run(graph, {schedule, Math::fast, threads, 0}, isa, inputs), one)) << threads;
  }
}

inline void check(Operator op, const std::vector<Input>& inputs, const Family& family = families::typed,
                  double tolerance = 0, std::size_t outputs = 1) {
  const Graph graph = single(std::move(op), inputs, outputs);
  check(graph, family, inputs_of(graph, 1), tolerance);
}

}  // namespace colonnade::test::whole
