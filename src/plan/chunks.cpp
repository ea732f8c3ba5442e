// SPDX-License-Identifier: Apache-2.0
#include "plan/chunks.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kMinChannels = 128;

/// Channels of equal chunks, about `wish` each, in multiples of `grain`.
std::int64_t chunk_channels(std::int64_t channels, std::int64_t wish, std::int64_t grain) {
  return round_up(ceil_div(channels, ceil_div(channels, wish)), grain);
}

/// The single inner consumer of a node that nothing else reads; -1 otherwise.
std::int32_t only_consumer(const LocalNode& node) {
  return node.whole || node.consumers.size() != 1 ? -1 : node.consumers.front();
}

}  // namespace

void find_chunks(const PlanContext& context, LocalSegment& segment) {
  const auto graph_node = [&](std::int32_t local) {
    return static_cast<std::size_t>(segment.nodes[static_cast<std::size_t>(local)].node);
  };
  const auto rule = [&](std::int32_t local) -> const ChunkRule& { return context.chunk_rules[graph_node(local)]; };
  for (std::size_t head = 0; head < segment.nodes.size(); ++head) {
    const LocalNode& first = segment.nodes[head];
    ChunkGroup group{{static_cast<std::int32_t>(head)}, 0, 0};
    if (first.chunk_group >= 0 || !rule(group.nodes.front()).opens) continue;
    const Node& expand = context.graph.nodes[static_cast<std::size_t>(first.node)];
    group.channels = context.graph.value(expand.outputs[0]).type.static_shape().back();
    if (group.channels < kMinChannels) continue;
    std::int32_t next = only_consumer(first);
    while (next >= 0 && rule(next).carries) {
      group.nodes.push_back(next);
      next = only_consumer(segment.nodes[static_cast<std::size_t>(next)]);
    }
    if (next < 0 || !rule(next).closes) continue;
    const Node& project = context.graph.nodes[graph_node(next)];
    const Node& last_middle = context.graph.nodes[graph_node(group.nodes.back())];
    if (project.inputs[0] != last_middle.outputs[0] || segment.nodes[static_cast<std::size_t>(next)].chunk_group >= 0)
      continue;
    group.nodes.push_back(next);
    group.chunk_channels = chunk_channels(group.channels, rule(group.nodes.front()).wish, rule(next).grain);
    for (const std::int32_t member : group.nodes)
      segment.nodes[static_cast<std::size_t>(member)].chunk_group =
          static_cast<std::int32_t>(segment.chunk_groups.size());
    segment.chunk_groups.push_back(std::move(group));
  }
}

}  // namespace colonnade
