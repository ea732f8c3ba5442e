// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/interruption.hpp"
#include "plan/arena.hpp"
#include "plan/segment.hpp"

namespace colonnade {
namespace {

constexpr double kMostWorthOneThreadUs = 1000;  // more is worth a team without asking

SegmentPlan::Kind kind_of(const PlanContext& context, const std::vector<std::int32_t>& nodes) {
  switch (context.choices[static_cast<std::size_t>(nodes.front())].family->scope) {
    case Scope::island: return SegmentPlan::Kind::island;
    case Scope::view: return SegmentPlan::Kind::view;
    case Scope::rows:
    case Scope::whole: break;
  }
  return nodes.size() > 1 ? SegmentPlan::Kind::columns : SegmentPlan::Kind::layer;
}

/// One step over all units of a node, shared among the threads.
void plan_units(const PlanContext& context, SegmentPlan& segment, int threads) {
  const std::int32_t node = segment.nodes.front();
  const std::int64_t units = context.rows[static_cast<std::size_t>(node)].rows;
  const std::int64_t parts = std::clamp<std::int64_t>(units, 1, threads);
  segment.sharing = parts > 1 ? Sharing::bands : Sharing::single;
  segment.rows_per_step = units;
  for (std::int64_t part = 0; part < parts; ++part) {
    Step step;
    step.node = node;
    step.row_begin = static_cast<std::int32_t>(units * part / parts);
    step.row_end = static_cast<std::int32_t>(units * (part + 1) / parts);
    segment.steps.push_back({step});
    segment.bands.push_back({step.row_begin, step.row_end});
  }
}

/// Divides the output channels of one contraction among threads.
void plan_channels(const PlanContext& context, SegmentPlan& segment, const ChunkGroup& shares) {
  segment.sharing = Sharing::channels;
  segment.chunk_groups = {shares};
  const std::int32_t node = segment.nodes.front();
  segment.rows_per_step = context.rows[static_cast<std::size_t>(node)].rows;
  for (std::int32_t chunk = 0; chunk < shares.count(); ++chunk) {
    Step step;
    step.node = node;
    step.row_end = static_cast<std::int32_t>(segment.rows_per_step);
    step.chunk = chunk;
    segment.steps.push_back({step});
    segment.bands.push_back({0, step.row_end});
  }
}

/// Bytes of a row of one node's output in its widest strip.
std::int64_t strip_row_bytes(const SegmentPlan& segment, std::size_t local, std::int64_t row_bytes,
                             std::int64_t width) {
  std::int64_t widest = segment.strips.empty() ? width : 0;
  for (const auto& columns : segment.strips) widest = std::max(widest, columns[local].size());
  return row_bytes / width * widest;
}

/// Bytes of a row of the ring of one node's output.
std::int64_t ring_row_bytes(const PlanContext& context, const SegmentPlan& segment, const LocalSegment& local,
                            std::size_t i) {
  const LocalNode& node = local.nodes[i];
  if (node.host >= 0) return ring_row_bytes(context, segment, local, static_cast<std::size_t>(node.host));
  const ValueId value = context.graph.nodes[static_cast<std::size_t>(node.node)].outputs[0];
  return strip_row_bytes(segment, i, context.rows[static_cast<std::size_t>(node.node)].row_bytes,
                         row_shape(context.graph.value(value).type.static_shape()).width);
}

/// First channel of a node's output in the ring that it lies in.
std::int64_t first_channel(const PlanContext& context, ValueId value, ValueId ring) {
  std::int64_t channel = 0;
  for (; value != ring; value = context.hosts[static_cast<std::size_t>(value)].value)
    channel += context.hosts[static_cast<std::size_t>(value)].channel;
  return channel;
}

void add_rings(const PlanContext& context, SegmentPlan& segment, const LocalSegment& local,
               const ScheduleResult& schedule) {
  for (std::size_t i = 0; i < local.nodes.size(); ++i) {
    const LocalNode& node = local.nodes[i];
    if (node.whole) continue;
    Ring ring;
    ring.value = context.graph.nodes[static_cast<std::size_t>(node.node)].outputs[0];
    ring.rows = schedule.ring_rows[i];
    ring.head_rows = schedule.head_rows[i];
    ring.row_bytes = ring_row_bytes(context, segment, local, i);
    if (node.host >= 0) {
      const auto host = static_cast<std::size_t>(local.nodes[static_cast<std::size_t>(node.host)].node);
      ring.host = context.graph.nodes[host].outputs[0];
      ring.channel = first_channel(context, ring.value, ring.host);
    }
    if (node.chunk_group >= 0) {
      const ChunkGroup& group = local.chunk_groups[static_cast<std::size_t>(node.chunk_group)];
      if (local.nodes[static_cast<std::size_t>(group.nodes.back())].node != node.node) {
        ring.chunk_count = group.count();
        ring.row_bytes = ring.row_bytes / group.channels * group.chunk_channels;
      }
    }
    segment.halo_rows += ring.head_rows;
    segment.ring_bytes += ring.bytes_a_thread();
    segment.rings.push_back(ring);
  }
}

std::int64_t ring_bytes(const PlanContext& context, const SegmentPlan& segment, const LocalSegment& local,
                        const ScheduleResult& schedule) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < local.nodes.size(); ++i)
    if (const LocalNode& node = local.nodes[i]; !node.whole)
      bytes += ring_row_bytes(context, segment, local, i) *
               (schedule.head_rows[i] + (node.host < 0 ? schedule.ring_rows[i] : 0));
  return bytes;
}

/// Schedules the segment in as many bands as it allows; shared rings become rings of their own where sharing would take
/// much more memory, and in strips, whose columns differ.
ScheduleResult schedule_rows(const PlanContext& context, const SegmentPlan& segment, LocalSegment& local,
                             std::int64_t most_bands, std::int64_t rows_per_step) {
  constexpr double kMostGrowth = 1.25;
  const auto schedule_of = [&](const LocalSegment& candidate) {
    std::optional<ScheduleResult> schedule;
    for (std::int64_t bands = most_bands; !schedule; --bands) schedule = make_schedule(candidate, bands, rows_per_step);
    return *std::move(schedule);
  };
  LocalSegment apart = local;
  for (LocalNode& node : apart.nodes) node.host = -1;
  ScheduleResult schedule = schedule_of(apart);
  const bool shares =
      std::any_of(local.nodes.begin(), local.nodes.end(), [](const auto& node) { return node.host >= 0; });
  if (shares && segment.strips.empty()) {
    ScheduleResult shared = schedule_of(local);
    if (static_cast<double>(ring_bytes(context, segment, local, shared)) <=
        kMostGrowth * static_cast<double>(ring_bytes(context, segment, apart, schedule)))
      return shared;
  }
  local = std::move(apart);
  return schedule;
}

void plan_rows(const PlanContext& context, SegmentPlan& segment, const SegmentChoice& choice) {
  if (choice.channels)
    return plan_channels(context, segment, *channel_shares(context, choice.nodes.front(), choice.threads));
  const bool share_images = choice.threads > 1 && segment.images >= choice.threads;
  LocalSegment local = local_segment(context, segment.nodes, segment.nodes.size() > 1);
  if (choice.strips > 1)
    if (auto strips = cut_strips(context.windows, local, choice.strips)) segment.strips = std::move(*strips);
  ScheduleResult schedule =
      schedule_rows(context, segment, local, share_images ? 1 : choice.threads, choice.rows_per_step);
  segment.sharing = share_images ? Sharing::images : schedule.bands.size() > 1 ? Sharing::bands : Sharing::single;
  segment.rows_per_step = choice.rows_per_step;
  segment.steps = std::move(schedule.steps);
  segment.bands = std::move(schedule.bands);
  for (ChunkGroup group : local.chunk_groups) {
    for (std::int32_t& member : group.nodes) member = local.nodes[static_cast<std::size_t>(member)].node;
    segment.chunk_groups.push_back(std::move(group));
  }
  add_rings(context, segment, local, schedule);
}

void count_traffic(const PlanContext& context, SegmentPlan& segment) {
  for (const std::int32_t index : segment.nodes) {
    const auto i = static_cast<std::size_t>(index);
    const Node& node = context.graph.nodes[i];
    segment.flop += context.work[i].flop;
    segment.weights_bytes += context.work[i].weights_bytes;
    segment.scratch_bytes = std::max(segment.scratch_bytes, round_up(context.work[i].scratch_bytes, 64));
    const auto in_ring = [&](ValueId id) {
      return std::any_of(segment.rings.begin(), segment.rings.end(),
                         [id](const Ring& ring) { return ring.value == id; });
    };
    for (const ValueId id : node.inputs) {
      if (id == kAbsent || context.graph.value(id).constant) continue;
      (in_ring(id) ? segment.ring_traffic_bytes : segment.read_bytes) += bytes_of(context.graph.value(id));
    }
    for (const ValueId id : node.outputs)
      if (id != kAbsent)
        (in_ring(id) ? segment.ring_traffic_bytes : segment.written_bytes) += bytes_of(context.graph.value(id));
  }
  if (segment.kind == SegmentPlan::Kind::view) segment.read_bytes = segment.written_bytes = 0;
  const int threads = context.threads;
  const std::int64_t whole_bytes = (segment.read_bytes + segment.written_bytes) / threads;
  segment.ring_level = memory_level(context.topology, segment.ring_bytes + segment.weights_bytes);
  segment.whole_level = memory_level(context.topology, whole_bytes);
}

SegmentPlan plan_segment(const PlanContext& context, const SegmentChoice& choice) {
  interruption_point();
  SegmentPlan segment;
  segment.kind = kind_of(context, choice.nodes);
  segment.nodes = choice.nodes;
  segment.ends_because = choice.ends_because;
  segment.predicted_us = choice.predicted_us;
  segment.arithmetic_us = choice.arithmetic_us;
  segment.images = context.rows[static_cast<std::size_t>(choice.nodes.front())].images;
  if (segment.kind == SegmentPlan::Kind::island) {
    Step step;
    step.node = choice.nodes.front();
    step.row_end = 1;
    segment.steps.push_back({step});
  } else if (segment.kind != SegmentPlan::Kind::view) {
    if (context.choices[static_cast<std::size_t>(choice.nodes.front())].by_rows())
      plan_rows(context, segment, choice);
    else
      plan_units(context, segment, choice.threads);
  }
  count_traffic(context, segment);
  return segment;
}

/// The value whose bytes `id` shows: views are followed back to what they view.
ValueId root_of(const PlanContext& context, ValueId id) {
  for (;;) {
    const std::int32_t producer = context.producer[static_cast<std::size_t>(id)];
    if (producer < 0 || context.choices[static_cast<std::size_t>(producer)].family->scope != Scope::view) return id;
    id = context.graph.nodes[static_cast<std::size_t>(producer)].inputs[0];
  }
}

/// Where a whole value lies: views are followed back to what they view, values that lie in another's rows to their
/// host.
Storage home_of(const PlanContext& context, const std::vector<bool>& in_ring, ValueId id) {
  Storage home;
  home.root = root_of(context, id);
  for (;;) {
    const auto root = static_cast<std::size_t>(home.root);
    const Host& host = context.hosts[root];
    if (in_ring[root] || host.value == kAbsent || in_ring[static_cast<std::size_t>(host.value)]) return home;
    home.host = host.value;
    home.channel += host.channel;
    home.root = root_of(context, host.value);
  }
}

struct Lifetime {
  std::int32_t first = std::numeric_limits<std::int32_t>::max();
  std::int32_t last = -1;
  void touch(std::int32_t segment) {
    first = std::min(first, segment);
    last = std::max(last, segment);
  }
};

/// Assigns every value a place and every block of the arena an offset.
void place_values(const PlanContext& context, Plan& plan) {
  const Graph& graph = context.graph;
  plan.storage.assign(graph.values.size(), {});
  std::vector<Lifetime> lifetimes(graph.values.size());
  std::vector<bool> in_ring(graph.values.size(), false);
  for (const SegmentPlan& segment : plan.segments)
    for (const Ring& ring : segment.rings) in_ring[static_cast<std::size_t>(ring.value)] = true;
  for (std::size_t s = 0; s < plan.segments.size(); ++s)
    for (const std::int32_t index : plan.segments[s].nodes) {
      const Node& node = graph.nodes[static_cast<std::size_t>(index)];
      for (const auto& ids : {node.inputs, node.outputs})
        for (const ValueId id : ids)
          if (id != kAbsent)
            lifetimes[static_cast<std::size_t>(home_of(context, in_ring, id).root)].touch(static_cast<std::int32_t>(s));
    }
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    Storage& storage = plan.storage[i];
    storage = home_of(context, in_ring, static_cast<ValueId>(i));
    if (!graph.values[i].type.is_static()) continue;
    storage.bytes = bytes_of(graph.values[i]);
    if (graph.value(storage.root).constant) storage.place = Place::constant;
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    Storage& storage = plan.storage[static_cast<std::size_t>(graph.inputs[i])];
    storage.place = Place::input;
    storage.index = static_cast<std::int32_t>(i);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    Storage& root = plan.storage[static_cast<std::size_t>(root_of(context, graph.outputs[i]))];
    if (root.place != Place::nowhere) continue;  // an input, a constant or an earlier output: copied at the end
    root.place = Place::output;
    root.index = static_cast<std::int32_t>(i);
  }
  std::vector<Block> blocks;
  std::vector<std::int64_t*> offsets;
  const auto add_block = [&](std::int64_t bytes, std::int32_t first, std::int32_t last, std::int64_t* offset) {
    if (bytes == 0) return;
    blocks.push_back({bytes, first, last, 0});
    offsets.push_back(offset);
  };
  for (std::size_t s = 0; s < plan.segments.size(); ++s) {
    SegmentPlan& segment = plan.segments[s];
    const auto at = static_cast<std::int32_t>(s);
    const std::int64_t instances =
        segment.sharing == Sharing::images ? plan.threads : static_cast<std::int64_t>(segment.steps.size());
    for (Ring& ring : segment.rings) {
      plan.storage[static_cast<std::size_t>(ring.value)].place = Place::ring;
      ring.thread_stride = round_up(ring.bytes_a_thread(), 64);
      add_block(ring.thread_stride * instances - ring.head_bytes(), at, at, &ring.offset);
    }
    add_block(segment.scratch_bytes * instances, at, at, &segment.scratch_offset);
  }
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    Storage& storage = plan.storage[i];
    if (storage.place != Place::nowhere || storage.root != static_cast<ValueId>(i) || lifetimes[i].last < 0) continue;
    storage.place = Place::arena;
    add_block(std::max<std::int64_t>(storage.bytes, 1), lifetimes[i].first, lifetimes[i].last, &storage.offset);
  }
  plan.arena_bytes = place_blocks(blocks);
  for (std::size_t i = 0; i < blocks.size(); ++i) *offsets[i] = blocks[i].offset;
  for (Storage& storage : plan.storage) {
    if (storage.place != Place::nowhere || storage.root == kAbsent) continue;
    const Storage& root = plan.storage[static_cast<std::size_t>(storage.root)];
    storage.place = root.place;
    storage.index = root.index;
    storage.offset = root.offset;
  }
}

/// Of all segments, chosen or planned.
template <typename Segment>
double microseconds(const std::vector<Segment>& segments) {
  double sum = 0;
  for (const Segment& segment : segments) sum += segment.predicted_us;
  return sum;
}

Plan plan_with(PlanContext& context) {
  constexpr double kAsleep = 0.5;      // share of runs whose threads sleep: soon after another run they are awake
  constexpr double kLeastTeamUs = 30;  // what less saves is left to one thread
  std::vector<SegmentChoice> choices = choose_segments(context);
  const double together = microseconds(choices) + std::max(kLeastTeamUs, kAsleep * context.topology.rates.team_us);
  if (context.threads > 1 && together < kMostWorthOneThreadUs) {
    PlanContext single = context;
    set_threads(single, 1);
    std::vector<SegmentChoice> alone = choose_segments(single);
    if (microseconds(alone) <= together) {
      set_threads(context, 1);
      choices = std::move(alone);
    }
  }
  Plan plan;
  plan.options = context.options;
  plan.threads = context.threads;
  plan.choices = context.choices;
  for (const SegmentChoice& choice : choices) {
    plan.segments.push_back(plan_segment(context, choice));
    plan.flop += plan.segments.back().flop;
  }
  place_values(context, plan);
  return plan;
}

void check_shapes(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id == kAbsent || graph.value(id).type.is_static()) continue;
      fail(ErrorCode::unsupported, "node '{}' ({}): output '{}' is {}, its shape is known only when it runs", node.name,
           name_of(node.op), graph.value(id).name, to_text(graph.value(id).type));
    }
  }
}

/// Segments are chosen one by one, but what their whole tensors take together shows only in the arena: where that is
/// more than caches hold, a plan of few long columns that takes much less of it and little more time is the better one,
/// and so is one that takes no more of it and hardly more time: it reads whole tensors less often.
void prefer_lean(const PlanContext& context, Plan& plan) {
  constexpr double kMuchLess = 0.75, kLittleMore = 1.05, kHardlyMore = 1.01;
  if (memory_level(context.topology, plan.arena_bytes / plan.threads) != MemoryLevel::dram) return;
  PlanContext lean = context;
  lean.options.schedule = Schedule::columns;
  lean.small_steps = true;
  Plan columns = plan_with(lean);
  const double memory = static_cast<double>(columns.arena_bytes) / static_cast<double>(plan.arena_bytes);
  const double time = microseconds(columns.segments) / microseconds(plan.segments);
  if ((memory > kMuchLess || time > kLittleMore) && (memory > 1 || time > kHardlyMore)) return;
  columns.options = context.options;
  plan = std::move(columns);
}

}  // namespace

Plan make_plan(const Graph& graph, const Topology& topology, const PlanOptions& options) {
  check_shapes(graph);
  PlanContext context = make_context(graph, topology, options);
  Plan plan = plan_with(context);
  if (options.schedule == Schedule::automatic) prefer_lean(context, plan);
  if (options.memory_limit_bytes == 0 || plan.arena_bytes <= options.memory_limit_bytes) return plan;
  std::int64_t smallest = plan.arena_bytes;
  for (int threads = context.threads; threads >= 1; threads /= 2)
    for (const std::int64_t strips : {0, 1, 2, 4, 8}) {  // 0: full width, steps as fast as they can be
      PlanContext frugal = context;
      frugal.options.schedule = Schedule::columns;
      set_threads(frugal, threads);
      frugal.small_steps = strips > 0;
      frugal.min_strips = std::max<std::int64_t>(1, strips);
      Plan candidate = plan_with(frugal);
      candidate.options = options;
      if (candidate.arena_bytes <= options.memory_limit_bytes) return candidate;
      smallest = std::min(smallest, candidate.arena_bytes);
    }
  fail(ErrorCode::resource_limit, "memory limit of {} bytes is too small for '{}': at least {} bytes are needed",
       options.memory_limit_bytes, graph.name, smallest);
}

}  // namespace colonnade
