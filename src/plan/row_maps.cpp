// SPDX-License-Identifier: Apache-2.0
#include "plan/row_maps.hpp"

#include <algorithm>

namespace colonnade {
namespace {

RowMap map_of(const Graph& graph, const Node& node, std::size_t input, std::int64_t rows) {
  RowMap map;
  const ValueId id = node.inputs[input];
  if (id == kAbsent || graph.value(id).constant) return map;
  map.begin.reserve(static_cast<std::size_t>(rows));
  map.end.reserve(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto needed = access_rows(graph, node, input, {row, row + 1});
    if (!needed) return {};
    map.begin.push_back(static_cast<std::int32_t>(needed->begin));
    map.end.push_back(static_cast<std::int32_t>(needed->end));
  }
  // Rows that are read out of order (reflected padding) are kept from the first time they are needed to the last.
  for (std::size_t row = 1; row < map.end.size(); ++row) map.end[row] = std::max(map.end[row], map.end[row - 1]);
  for (std::size_t row = map.begin.size(); row-- > 1;)
    map.begin[row - 1] = std::min(map.begin[row - 1], map.begin[row]);
  return map;
}

}  // namespace

RowShape output_rows(const Graph& graph, const Node& node, const Choice& choice) {
  const ValueId seen = choice.family->border == Border::leaves ? node.inputs[0] : node.outputs[0];
  return row_shape(graph.value(seen).type.static_shape());
}

std::vector<RowNode> row_nodes(const Graph& graph, const std::vector<Choice>& choices) {
  std::vector<RowNode> result(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const Choice& choice = choices[i];
    RowNode& row_node = result[i];
    row_node.inputs.resize(node.inputs.size());
    if (choice.family->scope == Scope::whole) row_node.rows = choice.family->units({{graph, node}, choice});
    if (!choice.by_rows()) continue;
    const RowShape shape = output_rows(graph, node, choice);
    row_node.by_rows = true;
    row_node.images = shape.images;
    row_node.rows = shape.rows;
    row_node.granularity = choice.granularity;
    row_node.row_bytes = shape.row_elements() * static_cast<std::int64_t>(sizeof(float));
    for (std::size_t k = 0; k < node.inputs.size(); ++k) row_node.inputs[k] = map_of(graph, node, k, shape.rows);
  }
  return result;
}

}  // namespace colonnade
