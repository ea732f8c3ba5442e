// SPDX-License-Identifier: Apache-2.0
#include "plan/segment.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/interruption.hpp"
#include "plan/local.hpp"
#include "plan/rings.hpp"
#include "plan/strips.hpp"

namespace colonnade {
namespace {

SegmentPlan::Kind kind_of(const PlanContext& context, const ByLocal<NodeIndex>& nodes) {
  switch (context.choices[nodes.front()].family->scope) {
    case Scope::island: return SegmentPlan::Kind::island;
    case Scope::view: return SegmentPlan::Kind::view;
    case Scope::rows:
    case Scope::whole: break;
  }
  return nodes.size() > 1 ? SegmentPlan::Kind::columns : SegmentPlan::Kind::layer;
}

/// One step over all units of a node, shared among the threads.
void plan_units(const PlanContext& context, SegmentPlan& segment, int threads) {
  const NodeIndex node = segment.nodes.front();
  const std::int64_t units = context.rows[node].rows;
  const std::int64_t parts = std::clamp<std::int64_t>(units, 1, threads);
  segment.sharing = parts > 1 ? Sharing::bands : Sharing::single;
  segment.rows_per_step = units;
  for (std::int64_t part = 0; part < parts; ++part) {
    const auto begin = [&](std::int64_t of) { return context.shares.begin(units, of, parts); };
    segment.bands.push_back({begin(part), begin(part + 1)});
    segment.steps.push_back({Step::run_rows(node, segment.bands.back())});
  }
}

/// Divides one contraction among threads: its rows into bands, and the output channels of each.
void plan_channels(const PlanContext& context, SegmentPlan& segment, const SegmentChoice& choice) {
  const NodeIndex node = choice.nodes.front();
  const RowNode& rows = context.rows[node];
  const ChunkGroup shares = *channel_shares(context, node, choice.threads / static_cast<int>(choice.bands));
  const std::int64_t units = ceil_div(rows.rows, rows.granularity);
  segment.sharing = Sharing::channels;
  segment.chunk_groups = {shares};
  segment.rows_per_step = rows.rows;
  const auto row = [&](std::int64_t band) {
    return std::min(rows.rows, units * band / choice.bands * rows.granularity);
  };
  for (std::int64_t band = 0; band < choice.bands; ++band)
    for (std::int32_t chunk = 0; chunk < shares.count(); ++chunk) {
      segment.bands.push_back({row(band), row(band + 1)});
      segment.steps.push_back({Step::run_rows(node, segment.bands.back(), chunk)});
    }
}

/// Schedules the segment in as many bands as it allows; shared rings become rings of their own where sharing would take
/// much more memory, and in strips, whose columns differ.
ScheduleResult schedule_rows(const PlanContext& context, const SegmentPlan& segment, LocalSegment& local,
                             std::int64_t most_bands, const SegmentChoice& choice) {
  constexpr double kMostGrowth = 1.25;
  const auto schedule_of = [&](const LocalSegment& candidate) {
    std::optional<ScheduleResult> schedule;
    for (std::int64_t bands = most_bands; !schedule; --bands)
      schedule = make_schedule(candidate, bands, choice.rows_per_step, choice.twice);
    return *std::move(schedule);
  };
  LocalSegment apart = local;
  for (LocalNode& node : apart.nodes) node.host = kNotLocal;
  ScheduleResult schedule = schedule_of(apart);
  const bool shares =
      std::any_of(local.nodes.begin(), local.nodes.end(), [](const auto& node) { return node.host != kNotLocal; });
  if (shares && segment.strips.empty()) {
    ScheduleResult shared = schedule_of(local);
    if (real(ring_bytes(context, segment, local, shared)) <=
        kMostGrowth * real(ring_bytes(context, segment, apart, schedule)))
      return shared;
  }
  local = std::move(apart);
  return schedule;
}

/// Whether strips write no column of a whole tensor twice.
bool are_apart(const SegmentPlan& segment, const LocalSegment& local) {
  for (const LocalIndex i : local.nodes.indices())
    for (std::size_t strip = 1; local.nodes[i].whole && strip < segment.strips.size(); ++strip)
      if (segment.strips[strip][i].begin < segment.strips[strip - 1][i].end) return false;
  return true;
}

void plan_rows(const PlanContext& context, SegmentPlan& segment, const SegmentChoice& choice) {
  if (choice.channels) return plan_channels(context, segment, choice);
  LocalSegment local = local_segment(context, segment.nodes, segment.nodes.size() > 1);
  if (choice.strips > 1)
    if (auto strips = cut_strips(context.windows, local, choice.strips)) segment.strips = std::move(*strips);
  const bool share_rounds = choice.rounds && are_apart(segment, local);
  ScheduleResult schedule = schedule_rows(context, segment, local, share_rounds ? 1 : choice.threads, choice);
  segment.predicted_us += schedule.repeated * choice.arithmetic_us;
  segment.arithmetic_us += schedule.repeated * choice.arithmetic_us;
  segment.sharing = share_rounds ? Sharing::rounds : schedule.bands.size() > 1 ? Sharing::bands : Sharing::single;
  segment.rows_per_step = choice.rows_per_step;
  segment.steps = std::move(schedule.steps);
  segment.bands = std::move(schedule.bands);
  for (const LocalChunks& group : local.chunk_groups) segment.chunk_groups.push_back(graph_chunks(local, group));
  add_rings(context, segment, local, schedule);
}

void count_traffic(const PlanContext& context, const Team& team, SegmentPlan& segment) {
  const auto in_ring = [&](ValueId id) {
    return std::any_of(segment.rings.begin(), segment.rings.end(), [id](const Ring& ring) { return ring.value == id; });
  };
  for (const NodeIndex index : segment.nodes) {
    const Node& node = node_of(context.graph, index);
    const NodeWork& work = context.work[index];
    segment.flop += work.flop;
    segment.weights_bytes += work.weights_bytes;
    segment.shared_bytes = std::max(segment.shared_bytes, round_up(work.shared_bytes, 64));
    segment.scratch_bytes = std::max(segment.scratch_bytes, round_up(work.scratch_bytes, 64));
    for (const ValueId id : node.inputs) {
      if (id == kAbsent || context.graph.value(id).constant) continue;
      (in_ring(id) ? segment.ring_traffic_bytes : segment.read_bytes) += bytes_of(context.graph.value(id));
    }
    for (const ValueId id : node.outputs)
      if (id != kAbsent)
        (in_ring(id) ? segment.ring_traffic_bytes : segment.written_bytes) += bytes_of(context.graph.value(id));
  }
  if (segment.kind == SegmentPlan::Kind::view) segment.read_bytes = segment.written_bytes = 0;
  const std::int64_t whole_bytes = (segment.read_bytes + segment.written_bytes) / team.threads;
  segment.ring_level = memory_level(context.topology, segment.ring_bytes + segment.weights_bytes);
  segment.whole_level = memory_level(context.topology, whole_bytes);
}

}  // namespace

SegmentPlan plan_segment(const PlanContext& context, const Team& team, const SegmentChoice& choice) {
  interruption_point();
  SegmentPlan segment;
  const NodeIndex first = choice.nodes.front();
  segment.kind = kind_of(context, choice.nodes);
  segment.nodes = choice.nodes;
  segment.ends_because = choice.ends_because;
  segment.predicted_us = choice.predicted_us;
  segment.arithmetic_us = choice.arithmetic_us;
  segment.images = context.rows[first].images;
  segment.turns = context.rows[first].turns;
  if (segment.kind == SegmentPlan::Kind::island)
    segment.steps.push_back({Step::run_rows(first, {0, 1})});
  else if (segment.kind != SegmentPlan::Kind::view && context.by_rows(first))
    plan_rows(context, segment, choice);
  else if (segment.kind != SegmentPlan::Kind::view)
    plan_units(context, segment, choice.threads);
  count_traffic(context, team, segment);
  return segment;
}

}  // namespace colonnade
