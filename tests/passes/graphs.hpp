// SPDX-License-Identifier: Apache-2.0
// Small graphs for the tests of the passes.
#pragma once

#include <random>

#include "graph/graph.hpp"

namespace colonnade::test {

/// Builds a graph node by node; types are inferred at once.
class Builder {
 public:
  explicit Builder(std::uint32_t seed = 1) : random_(seed) { graph.name = "test"; }

  ValueId input(const std::string& name, Shape shape, DType dtype = DType::f32);
  /// Random float32 elements in [low, high).
  ValueId weights(const std::string& name, Shape shape, float low = -1, float high = 1);
  ValueId scalar(const std::string& name, float value);
  ValueId floats(const std::string& name, Shape shape, const std::vector<float>& values);
  ValueId ints(const std::string& name, const Ints& values) { return graph.add_ints(name, values); }
  ValueId node(const std::string& name, Operator op, std::vector<ValueId> inputs);
  void output(ValueId id) { graph.outputs.push_back(id); }

  ValueId unary(const std::string& name, UnaryKind kind, ValueId x, float a = 0, float b = 0) {
    return node(name, Unary{kind, a, b}, {x});
  }
  ValueId binary(const std::string& name, BinaryKind kind, ValueId a, ValueId b) {
    return node(name, Binary{kind}, {a, b});
  }
  ValueId transpose(const std::string& name, ValueId x, Ints perm) { return node(name, Transpose{perm}, {x}); }
  ValueId to_last(const std::string& name, ValueId x) { return transpose(name, x, {0, 2, 3, 1}); }
  ValueId to_first(const std::string& name, ValueId x) { return transpose(name, x, {0, 3, 1, 2}); }
  /// A convolution of [N, C, H, W] as the importer writes it, same size, groups 1 or the channels.
  ValueId conv(const std::string& name, ValueId x, std::int64_t channels, std::int64_t kernel, bool depthwise = false);
  ValueId batch_norm(const std::string& name, ValueId x, std::int64_t axis = 1);

  Shape shape(ValueId id) const { return *graph.value(id).type.shape; }
  std::mt19937& random() { return random_; }

  Graph graph;

 private:
  std::mt19937 random_;
};

/// Tensors for the graph's (static) inputs: random float32, random zeros and ones in int64, zeros else.
std::vector<Tensor> inputs_for(const Graph& graph, std::uint32_t seed);
/// Both graphs have equal interfaces and compute the same within tolerance * max(1, largest magnitude).
void expect_same_results(const Graph& before, const Graph& after, std::uint32_t seed, double tolerance = 1e-4);

/// All passes leave a graph as it is that they have made.
void expect_settled(Graph graph);
/// What all passes make of the graph, and leave so; verified after each, and with the same results.
Graph optimized(const Graph& graph);

/// How many nodes hold an Op.
template <class Op>
int count_of(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes) count += std::holds_alternative<Op>(node.op) ? 1 : 0;
  return count;
}

/// The names of the operators in order: "Transpose Conv Relu".
std::string operators_of(const Graph& graph);

}  // namespace colonnade::test
