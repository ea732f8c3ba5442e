// SPDX-License-Identifier: Apache-2.0
#include "plan/rings.hpp"

#include <algorithm>

namespace colonnade {
namespace {

/// Bytes of a row of one node's output in its widest strip.
std::int64_t strip_row_bytes(const SegmentPlan& segment, LocalIndex node, std::int64_t row_bytes, std::int64_t width) {
  std::int64_t widest = segment.strips.empty() ? width : 0;
  for (const auto& columns : segment.strips) widest = std::max(widest, columns[node].size());
  return row_bytes / width * widest;
}

/// Bytes of a row of the ring of one node's output.
std::int64_t ring_row_bytes(const PlanContext& context, const SegmentPlan& segment, const LocalSegment& local,
                            LocalIndex i) {
  const LocalNode& node = local.nodes[i];
  if (node.host != kNotLocal) return ring_row_bytes(context, segment, local, node.host);
  const ValueId value = output_of(context.graph, node.node);
  return strip_row_bytes(segment, i, context.rows[node.node].row_bytes,
                         row_shape(context.graph.value(value).type.static_shape()).width);
}

/// First channel of a node's output in the ring that it lies in.
std::int64_t first_channel(const PlanContext& context, ValueId value, ValueId ring) {
  std::int64_t channel = 0;
  for (; value != ring; value = context.hosts[value].value) channel += context.hosts[value].channel;
  return channel;
}

Ring ring_of(const PlanContext& context, const SegmentPlan& segment, const LocalSegment& local,
             const ScheduleResult& schedule, LocalIndex i) {
  const LocalNode& node = local.nodes[i];
  Ring ring;
  ring.value = output_of(context.graph, node.node);
  ring.type = context.graph.value(ring.value).type.dtype;
  ring.rows = schedule.ring_rows[i];
  ring.head_rows = schedule.head_rows[i];
  ring.row_bytes = ring_row_bytes(context, segment, local, i);
  if (node.host != kNotLocal) {
    ring.host = output_of(context.graph, local.nodes[node.host].node);
    ring.channel = first_channel(context, ring.value, ring.host);
  }
  if (node.chunk_group == kNoGroup) return ring;
  const LocalChunks& group = local.chunk_groups[node.chunk_group];
  if (group.nodes.back() != i) {
    ring.chunk_count = group.count();
    ring.row_bytes = ring.row_bytes / group.channels * group.chunk_channels;
  }
  return ring;
}

}  // namespace

void add_rings(const PlanContext& context, SegmentPlan& segment, const LocalSegment& local,
               const ScheduleResult& schedule) {
  for (const LocalIndex i : local.nodes.indices()) {
    if (local.nodes[i].whole) continue;
    const Ring ring = ring_of(context, segment, local, schedule, i);
    segment.halo_rows += ring.head_rows;
    segment.ring_bytes += ring.bytes_a_thread();
    segment.rings.push_back(ring);
  }
}

std::int64_t ring_bytes(const PlanContext& context, const SegmentPlan& segment, const LocalSegment& local,
                        const ScheduleResult& schedule) {
  std::int64_t bytes = 0;
  for (const LocalIndex i : local.nodes.indices())
    if (const LocalNode& node = local.nodes[i]; !node.whole)
      bytes += ring_row_bytes(context, segment, local, i) *
               (schedule.head_rows[i] + (node.host == kNotLocal ? schedule.ring_rows[i] : 0));
  return bytes;
}

}  // namespace colonnade
