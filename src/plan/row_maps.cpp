// SPDX-License-Identifier: Apache-2.0
#include "plan/row_maps.hpp"

#include <algorithm>

#include "base/numbers.hpp"

namespace colonnade {
namespace {

RowMap map_of(const Graph& graph, const Node& node, std::size_t input, std::int64_t rows) {
  RowMap map;
  const ValueId id = node.inputs[input];
  if (id == kAbsent || graph.value(id).constant) return map;
  const std::vector<Interval> each = access_each_row(graph, node, input, rows);
  map.begin.items.reserve(each.size());
  map.end.items.reserve(each.size());
  for (const Interval& needed : each) {
    map.begin.push_back(to_int32(needed.begin));
    map.end.push_back(to_int32(needed.end));
  }
  if (map.begin.items.empty()) return {};
  // Rows that are read out of order (reflected padding) are kept from the first time they are needed to the last.
  for (std::int64_t row = 1; row < rows; ++row) map.end[row] = std::max(map.end[row], map.end[row - 1]);
  for (std::int64_t row = rows - 1; row > 0; --row) map.begin[row - 1] = std::min(map.begin[row - 1], map.begin[row]);
  return map;
}

}  // namespace

RowShape output_rows(const Graph& graph, const Node& node, const Choice& choice) {
  const ValueId seen = choice.family->border == Border::leaves ? node.inputs[0] : node.outputs[0];
  return row_shape(graph.value(seen).type.static_shape());
}

ByNode<RowNode> row_nodes(const Graph& graph, const ByNode<Choice>& choices) {
  auto result = ByNode<RowNode>::of(graph.nodes.size());
  for (const NodeIndex i : nodes_of(graph)) {
    const Node& node = node_of(graph, i);
    const Choice& choice = choices[i];
    RowNode& row_node = result[i];
    row_node.inputs.resize(node.inputs.size());
    if (choice.family->scope == Scope::whole) {
      row_node.rows = choice.family->units({{graph, node}, choice});
      row_node.turns = choice.family->turns({{graph, node}, choice}).count;
    }
    if (!choice.by_rows()) continue;
    const RowShape shape = output_rows(graph, node, choice);
    row_node.by_rows = true;
    row_node.images = shape.images;
    row_node.rows = shape.rows;
    row_node.granularity = choice.granularity;
    row_node.row_bytes =
        shape.row_elements() * static_cast<std::int64_t>(size_of(graph.value(node.outputs[0]).type.dtype));
    for (std::size_t k = 0; k < node.inputs.size(); ++k) row_node.inputs[k] = map_of(graph, node, k, shape.rows);
  }
  return result;
}

}  // namespace colonnade
