// SPDX-License-Identifier: Apache-2.0
#include "api/layouts.hpp"

#include <utility>

#include "base/strides.hpp"
#include "passes/permutation.hpp"

namespace colonnade {
namespace {

/// The value as it lies in memory.
ValueId add_twin(Graph& graph, ValueId id, const Ints& order) {
  const Value& value = graph.value(id);
  ValueType type = value.type;
  if (!type.is_tensor() || !type.shape || type.shape->size() != order.size())
    fail(ErrorCode::invalid_argument, "'{}': expected {}, found strides of a tensor of rank {}", value.name,
         to_text(type), order.size());
  type.shape = in_order(*type.shape, order);
  return graph.add_value(std::string(value.name), std::move(type));
}

Node transpose(const Graph& graph, Ints perm, ValueId from, ValueId to) {
  const std::string& name = graph.value(to).name;
  return {Transpose{std::move(perm)}, {from}, {to}, name, "Transpose"};
}

}  // namespace

void set_layouts(Graph& graph, const Layouts& layouts) {
  std::vector<Node> first;
  for (std::size_t i = 0; i < layouts.inputs.size(); ++i) {
    const Ints& order = layouts.inputs[i];
    if (order.empty()) continue;
    const ValueId twin = add_twin(graph, graph.inputs[i], order);
    first.push_back(transpose(graph, rewrite::inverse(order), twin, graph.inputs[i]));
    graph.inputs[i] = twin;
  }
  graph.nodes.insert(graph.nodes.begin(), std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()));
  for (std::size_t i = 0; i < layouts.outputs.size(); ++i) {
    const Ints& order = layouts.outputs[i];
    if (order.empty()) continue;
    const ValueId twin = add_twin(graph, graph.outputs[i], order);
    graph.nodes.push_back(transpose(graph, order, graph.outputs[i], twin));
    graph.outputs[i] = twin;
  }
}

}  // namespace colonnade
