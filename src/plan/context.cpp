// SPDX-License-Identifier: Apache-2.0
#include "plan/context.hpp"

#include <algorithm>
#include <set>

#include "plan/local.hpp"
#include "plan/strips.hpp"

namespace colonnade {
namespace {

Edges find_edges(const Graph& graph) {
  Edges edges{ByValue<NodeIndex>::of(graph.values.size(), kNoNode),
              ByValue<std::vector<NodeIndex>>::of(graph.values.size()), ByValue<bool>::of(graph.values.size(), false),
              ByNode<std::vector<Reader>>::of(graph.nodes.size())};
  for (const NodeIndex node : nodes_of(graph)) {
    for (const ValueId id : node_of(graph, node).inputs)
      if (id != kAbsent) edges.consumers[id].push_back(node);
    for (const ValueId id : node_of(graph, node).outputs)
      if (id != kAbsent) edges.producer[id] = node;
  }
  for (const ValueId id : graph.outputs) edges.is_output[id] = true;
  return edges;
}

/// Topological order that goes on with row-wise nodes while any is ready, then takes the oldest other node.
std::vector<NodeIndex> row_first_order(const PlanContext& context) {
  const Graph& graph = context.graph;
  auto missing = ByNode<std::int32_t>::of(graph.nodes.size());
  std::set<NodeIndex> row_ready, other_ready;
  const auto make_ready = [&](NodeIndex node) { (context.by_rows(node) ? row_ready : other_ready).insert(node); };
  for (const NodeIndex node : nodes_of(graph)) {
    for (const ValueId id : node_of(graph, node).inputs)
      if (id != kAbsent && context.edges.producer[id] != kNoNode) ++missing[node];
    if (missing[node] == 0) make_ready(node);
  }
  std::vector<NodeIndex> order;
  while (!row_ready.empty() || !other_ready.empty()) {
    std::set<NodeIndex>& source = row_ready.empty() ? other_ready : row_ready;
    const NodeIndex next = *source.begin();
    source.erase(source.begin());
    order.push_back(next);
    for (const ValueId out : node_of(graph, next).outputs) {
      if (out == kAbsent) continue;
      for (const NodeIndex consumer : context.edges.consumers[out])
        if (--missing[consumer] == 0) make_ready(consumer);
    }
  }
  return order;
}

Order make_order(const PlanContext& context) {
  const std::size_t count = context.graph.nodes.size();
  Order order{row_first_order(context), ByNode<std::size_t>::of(count), ByNode<std::size_t>::of(count, count),
              ByNode<std::size_t>::of(count)};
  for (std::size_t at = 0; at < count; ++at) order.position[order.nodes[at]] = at;
  return order;
}

/// A node reads a value that is not constant. What lies where it is read or written already (hosts) costs nothing to
/// read, to write or to copy.
void take_input(PlanContext& context, NodeIndex node, std::size_t input) {
  const ValueId id = node_of(context.graph, node).inputs[input], out = output_of(context.graph, node);
  const bool part = out != kAbsent && context.hosts[id].value == out;
  const bool slice = out != kAbsent && context.hosts[out].value == id;
  if (part || slice) context.work[node].placed_bytes += bytes_of(context.graph.value(slice ? out : id));
  const std::int64_t bytes = part || slice ? 0 : bytes_of(context.graph.value(id));
  context.work[node].read_bytes += bytes;
  const NodeIndex producer = context.edges.producer[id];
  if (producer == kNoNode) return;
  Order& order = context.order;
  context.edges.readers[producer].push_back({node, input, bytes});
  order.first_use[producer] = std::min(order.first_use[producer], order.position[node]);
  order.last_use[producer] = std::max(order.last_use[producer], order.position[node]);
}

/// Readers, uses and bytes of every node.
void follow_edges(PlanContext& context) {
  const Graph& graph = context.graph;
  for (const NodeIndex index : nodes_of(graph)) {
    const Node& node = node_of(graph, index);
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != kAbsent && !graph.value(node.inputs[k]).constant) take_input(context, index, k);
    NodeWork& work = context.work[index];
    if (work.placed_bytes > 0)
      work.seconds *= 1 - real(work.placed_bytes) / real(bytes_of(graph.value(node.outputs[0])));
    for (const ValueId out : node.outputs)
      if (out != kAbsent && (context.edges.is_output[out] || context.edges.consumers[out].empty()))
        context.order.last_use[index] = graph.nodes.size();
  }
}

GraphChunks find_all_chunks(const PlanContext& context) {
  ByLocal<NodeIndex> row_nodes;
  for (const NodeIndex node : context.order.nodes)
    if (context.by_rows(node)) row_nodes.push_back(node);
  const LocalSegment all = local_segment(context, row_nodes, true);
  GraphChunks chunks{{}, ByNode<GroupIndex>::of(context.graph.nodes.size(), kNoGroup)};
  for (const LocalChunks& group : all.chunk_groups) {
    ChunkGroup of_graph = graph_chunks(all, group);
    for (const NodeIndex member : of_graph.nodes) chunks.group_of[member] = chunks.groups.next_index();
    chunks.groups.push_back(std::move(of_graph));
  }
  return chunks;
}

}  // namespace

PlanContext make_context(const Graph& graph, const Topology& topology, ByNode<Choice> choices) {
  PlanContext context{graph, topology};
  context.choices = std::move(choices);
  context.shares = Shares(topology);
  context.rows = row_nodes(graph, context.choices);
  context.work = node_work(graph, context.choices, topology.rates);
  context.windows = column_windows(graph, context.choices);
  for (const NodeIndex node : nodes_of(graph)) {
    const Choice& choice = context.choices[node];
    context.chunk_rules.push_back(choice.family->chunks({{graph, node_of(graph, node)}, choice}));
  }
  context.hosts = find_hosts(graph, context.choices, context.rows);
  context.edges = find_edges(graph);
  context.order = make_order(context);
  follow_edges(context);
  context.chunks = find_all_chunks(context);
  return context;
}

Team::Team(const PlanContext& context, int count)
    : threads(count), reach(context.topology, count), barrier_us(context.topology.rates.barrier_us_of(count)) {
  std::int64_t weights = 0;
  for (const NodeWork& work : context.work) weights += work.weights_bytes;
  cold_weights = reach.seconds_beyond_l2(weights);
}

}  // namespace colonnade
