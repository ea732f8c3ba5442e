// SPDX-License-Identifier: Apache-2.0
#include "plan/local.hpp"

#include "base/checked.hpp"

namespace colonnade {
namespace {

/// Settles which nodes' outputs are whole and which lie in another's ring: what has its host in a whole tensor is
/// whole, what is whole for another reason cannot lie in a ring.
class Placing {
 public:
  Placing(const PlanContext& context, const ByNode<LocalIndex>& local, LocalSegment& segment)
      : context_(context), local_(local), segment_(segment), settled_(ByLocal<bool>::of(segment.nodes.size(), false)) {
    for (const LocalIndex i : segment_.nodes.indices()) settle(i);
  }

 private:
  /// The node that computes the value; kNotLocal: made elsewhere, so whole.
  LocalIndex maker(ValueId id) const {
    const NodeIndex producer = context_.edges.producer[id];
    return producer == kNoNode ? kNotLocal : local_[producer];
  }

  void settle(LocalIndex i) {
    if (settled_[i]) return;
    settled_[i] = true;
    LocalNode& node = segment_.nodes[i];
    const Host& host = context_.hosts[output_of(context_.graph, node.node)];
    if (host.value == kAbsent) return;
    const LocalIndex at = maker(host.value);
    if (at != kNotLocal) settle(at);
    if (at == kNotLocal || segment_.nodes[at].whole)
      node.whole = true;
    else if (!node.whole)
      node.host = segment_.nodes[at].host == kNotLocal ? at : segment_.nodes[at].host;
  }

  const PlanContext& context_;
  const ByNode<LocalIndex>& local_;
  LocalSegment& segment_;
  ByLocal<bool> settled_;
};

LocalNode local_node(const PlanContext& context, const ByNode<LocalIndex>& local, NodeIndex index) {
  const Node& node = node_of(context.graph, index);
  const RowNode& rows = context.rows[index];
  LocalNode entry;
  entry.node = index;
  entry.rows = rows.rows;
  entry.granularity = rows.granularity;
  entry.weight = context.work[index].seconds + 1e-9;
  entry.row_bytes = rows.row_bytes;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const ValueId id = node.inputs[k];
    if (id == kAbsent || context.graph.value(id).constant) continue;
    const NodeIndex producer = context.edges.producer[id];
    if (producer != kNoNode && local[producer] != kNotLocal) entry.inputs.push_back({local[producer], &rows.inputs[k]});
  }
  const ValueId out = node.outputs[0];
  entry.whole = context.edges.is_output[out];
  for (const NodeIndex consumer : context.edges.consumers[out]) {
    const LocalIndex inside = local[consumer];
    if (inside == kNotLocal)
      entry.whole = true;
    else if (entry.consumers.empty() || entry.consumers.back() != inside)
      entry.consumers.push_back(inside);
  }
  return entry;
}

}  // namespace

LocalSegment local_segment(const PlanContext& context, const ByLocal<NodeIndex>& nodes, bool chunks) {
  LocalSegment segment;
  segment.shares = context.shares;
  auto local = ByNode<LocalIndex>::of(context.graph.nodes.size(), kNotLocal);
  for (const LocalIndex i : nodes.indices()) local[nodes[i]] = i;
  for (const NodeIndex node : nodes) segment.nodes.push_back(local_node(context, local, node));
  Placing(context, local, segment);
  if (chunks) find_chunks(context, segment);
  return segment;
}

ChunkGroup graph_chunks(const LocalSegment& segment, const LocalChunks& group) {
  ChunkGroup of_graph{{}, group.channels, group.chunk_channels};
  for (const LocalIndex member : group.nodes) of_graph.nodes.push_back(segment.nodes[member].node);
  return of_graph;
}

std::optional<ChunkGroup> channel_shares(const PlanContext& context, NodeIndex node, int threads) {
  const std::int64_t share = context.chunk_rules[node].share;
  if (threads < 2 || share == 0) return std::nullopt;
  const std::int64_t channels = context.graph.value(output_of(context.graph, node)).type.static_shape().back();
  const std::int64_t shares = ceil_div(channels, share);
  if (shares < 2) return std::nullopt;
  return ChunkGroup{{node}, channels, ceil_div(shares, threads) * share};
}

}  // namespace colonnade
