// SPDX-License-Identifier: Apache-2.0
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {

/// Values that no node mentions are no change: no pass sees them.
bool drop_dead(Graph& graph) {
  const std::size_t nodes = graph.nodes.size();
  remove_dead(graph);
  return graph.nodes.size() != nodes;
}

}  // namespace colonnade::rewrite
