// SPDX-License-Identifier: Apache-2.0
#include "plan/hosts.hpp"

#include <algorithm>

namespace colonnade {
namespace {

/// Values whose writer and readers all take rows with strides as they come.
ByValue<bool> find_movable(const Graph& graph, const ByNode<Choice>& choices, const ByNode<RowNode>& rows) {
  auto movable = ByValue<bool>::of(graph.values.size(), false);
  for (const NodeIndex i : nodes_of(graph))
    if (choices[i].by_rows() && choices[i].family->border != Border::leaves) movable[output_of(graph, i)] = true;
  for (const NodeIndex i : nodes_of(graph))
    for (std::size_t k = 0; k < node_of(graph, i).inputs.size(); ++k) {
      const ValueId id = node_of(graph, i).inputs[k];
      const bool takes_rows = choices[i].by_rows() && choices[i].family->border != Border::enters;
      if (id != kAbsent && (!takes_rows || rows[i].inputs[k].whole())) movable[id] = false;
    }
  for (const ValueId id : graph.outputs) movable[id] = false;
  return movable;
}

/// Pixels of each node's output.
ByNode<std::int64_t> pixels_of(const Graph& graph) {
  ByNode<std::int64_t> pixels;
  for (const Node& node : graph.nodes) {
    const ValueId out = node.outputs[0];
    const bool known = out != kAbsent && graph.value(out).type.is_static();
    const RowShape shape = known ? row_shape(graph.value(out).type.static_shape()) : RowShape{};
    pixels.push_back(shape.images * shape.rows * shape.width);
  }
  return pixels;
}

/// Between the node that makes the value and `join` the graph works on smaller pictures: a skip connection, which is
/// better copied late than kept in rows with room for what comes.
bool skips(const ByNode<std::int64_t>& pixels, NodeIndex maker, NodeIndex join) {
  for (const NodeIndex between : pixels.indices())
    if (maker < between && between < join && pixels[between] < pixels[maker]) return true;
  return false;
}

}  // namespace

ByValue<Host> find_hosts(const Graph& graph, const ByNode<Choice>& choices, const ByNode<RowNode>& rows) {
  const ByValue<bool> movable = find_movable(graph, choices, rows);
  auto hosts = ByValue<Host>::of(graph.values.size());
  const ByNode<std::int64_t> pixels = pixels_of(graph);
  auto maker = ByValue<NodeIndex>::of(graph.values.size());
  const auto place = [&](ValueId id, ValueId host, std::int64_t channel) {
    if (movable[id] && hosts[id].value == kAbsent) hosts[id] = {host, channel};
  };
  for (const NodeIndex i : nodes_of(graph)) {
    const Node& node = node_of(graph, i);
    for (const ValueId id : node.outputs)
      if (id != kAbsent) maker[id] = i;
    for (const auto& [value, host, channel] : choices[i].family->placements({{graph, node}, choices[i]})) {
      const bool part = host == node.outputs[0];
      if (!part || !skips(pixels, maker[value], i)) place(value, host, channel);
    }
  }
  return hosts;
}

}  // namespace colonnade
