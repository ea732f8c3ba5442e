// SPDX-License-Identifier: Apache-2.0
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {

bool drop_dead(Graph& graph) {
  const std::size_t nodes = graph.nodes.size(), values = graph.values.size();
  remove_dead(graph);
  return graph.nodes.size() != nodes || graph.values.size() != values;
}

}  // namespace colonnade::rewrite
