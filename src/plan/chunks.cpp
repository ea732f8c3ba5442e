// SPDX-License-Identifier: Apache-2.0
#include "base/checked.hpp"
#include "plan/local.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kMinChannels = 128;

/// Channels of equal chunks, about `wish` each, in multiples of `grain`.
std::int64_t chunk_channels(std::int64_t channels, std::int64_t wish, std::int64_t grain) {
  return round_up(ceil_div(channels, ceil_div(channels, wish)), grain);
}

/// The single inner consumer of a node that nothing else reads; kNotLocal otherwise.
LocalIndex only_consumer(const LocalNode& node) {
  return node.whole || node.consumers.size() != 1 ? kNotLocal : node.consumers.front();
}

/// The chain that starts at `head`, with the contraction that ends it; without nodes when there is none.
LocalChunks chain_from(const PlanContext& context, const LocalSegment& segment, LocalIndex head) {
  const auto rule = [&](LocalIndex i) -> const ChunkRule& { return context.chunk_rules[segment.nodes[i].node]; };
  const LocalNode& first = segment.nodes[head];
  if (first.chunk_group != kNoGroup || !rule(head).opens) return {};
  LocalChunks group{{head}, context.graph.value(output_of(context.graph, first.node)).type.static_shape().back(), 0};
  if (group.channels < kMinChannels) return {};
  LocalIndex next = only_consumer(first);
  while (next != kNotLocal && rule(next).carries) {
    group.nodes.push_back(next);
    next = only_consumer(segment.nodes[next]);
  }
  if (next == kNotLocal || !rule(next).closes) return {};
  const LocalNode &project = segment.nodes[next], &last_middle = segment.nodes[group.nodes.back()];
  if (node_of(context.graph, project.node).inputs[0] != output_of(context.graph, last_middle.node) ||
      project.chunk_group != kNoGroup)
    return {};
  group.nodes.push_back(next);
  group.chunk_channels = chunk_channels(group.channels, rule(head).wish, rule(next).grain);
  return group;
}

}  // namespace

void find_chunks(const PlanContext& context, LocalSegment& segment) {
  for (const LocalIndex head : segment.nodes.indices()) {
    LocalChunks group = chain_from(context, segment, head);
    if (group.nodes.empty()) continue;
    for (const LocalIndex member : group.nodes) segment.nodes[member].chunk_group = segment.chunk_groups.next_index();
    segment.chunk_groups.push_back(std::move(group));
  }
}

}  // namespace colonnade
