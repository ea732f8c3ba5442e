// SPDX-License-Identifier: Apache-2.0
#include "plan/hosts.hpp"

#include <algorithm>

namespace colonnade {
namespace {

/// Values whose writer and readers all take rows with strides as they come.
std::vector<bool> find_movable(const Graph& graph, const std::vector<Choice>& choices,
                               const std::vector<RowNode>& rows) {
  std::vector<bool> movable(graph.values.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (choices[i].by_rows() && choices[i].family->border != Border::leaves)
      movable[static_cast<std::size_t>(graph.nodes[i].outputs[0])] = true;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (std::size_t k = 0; k < graph.nodes[i].inputs.size(); ++k) {
      const ValueId id = graph.nodes[i].inputs[k];
      if (id != kAbsent && (!choices[i].by_rows() || rows[i].inputs[k].whole()))
        movable[static_cast<std::size_t>(id)] = false;
    }
  for (const ValueId id : graph.outputs) movable[static_cast<std::size_t>(id)] = false;
  return movable;
}

/// Pixels of each node's output.
std::vector<std::int64_t> pixels_of(const Graph& graph) {
  std::vector<std::int64_t> pixels;
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
bool skips(const std::vector<std::int64_t>& pixels, std::size_t maker, std::size_t join) {
  for (std::size_t i = maker + 1; i < join; ++i)
    if (pixels[i] < pixels[maker]) return true;
  return false;
}

}  // namespace

std::vector<Host> find_hosts(const Graph& graph, const std::vector<Choice>& choices, const std::vector<RowNode>& rows) {
  const std::vector<bool> movable = find_movable(graph, choices, rows);
  std::vector<Host> hosts(graph.values.size());
  const std::vector<std::int64_t> pixels = pixels_of(graph);
  std::vector<std::size_t> maker(graph.values.size(), 0);
  const auto place = [&](ValueId id, ValueId host, std::int64_t channel) {
    if (movable[static_cast<std::size_t>(id)] && hosts[static_cast<std::size_t>(id)].value == kAbsent)
      hosts[static_cast<std::size_t>(id)] = {host, channel};
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    for (const ValueId id : node.outputs)
      if (id != kAbsent) maker[static_cast<std::size_t>(id)] = i;
    for (const auto& [value, host, channel] : choices[i].family->placements({{graph, node}, choices[i]})) {
      const bool part = host == node.outputs[0];
      if (!part || !skips(pixels, maker[static_cast<std::size_t>(value)], i)) place(value, host, channel);
    }
  }
  return hosts;
}

}  // namespace colonnade
