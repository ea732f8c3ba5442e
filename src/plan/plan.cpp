// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "plan/arena.hpp"
#include "plan/segment.hpp"
#include "plan/strips.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kPanel = 16;
constexpr double kMicrosecondsWorthSharing = 4;

SegmentPlan::Kind kind_of(const PlanContext& context, const std::vector<std::int32_t>& nodes) {
  const Family family = context.choices[static_cast<std::size_t>(nodes.front())].family;
  if (family == Family::island) return SegmentPlan::Kind::island;
  if (family == Family::view) return SegmentPlan::Kind::view;
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

/// Divides the output channels of one contraction among threads: worth it when its weights outweigh its rows.
bool plan_channels(const PlanContext& context, SegmentPlan& segment, int threads) {
  if (segment.nodes.size() != 1 || threads < 2) return false;
  const auto i = static_cast<std::size_t>(segment.nodes.front());
  const Node& node = context.graph.nodes[i];
  const Family family = context.choices[i].family;
  const bool convolution = family == Family::conv || family == Family::winograd;
  if (convolution ? std::get<Conv>(node.op).groups != 1 : family != Family::matmul) return false;
  const std::int64_t channels = context.graph.value(node.outputs[0]).type.static_shape().back();
  const std::int64_t panels = ceil_div(channels, kPanel);
  const std::int64_t input_bytes = bytes_of(context.graph.value(node.inputs[0]));
  const std::int64_t weights_bytes = bytes_of(context.graph.value(node.inputs[1]));
  const bool few_rows = context.rows[i].rows < 2 * threads * context.choices[i].row_granularity;
  if (panels < threads || (!few_rows && weights_bytes < 4 * input_bytes)) return false;
  const ChunkGroup group{{0}, channels, ceil_div(panels, threads) * kPanel};
  segment.sharing = Sharing::channels;
  segment.chunk_groups = {ChunkGroup{{segment.nodes.front()}, channels, group.chunk_channels}};
  segment.rows_per_step = context.rows[i].rows;
  for (std::int32_t chunk = 0; chunk < group.count(); ++chunk) {
    Step step;
    step.node = segment.nodes.front();
    step.row_end = static_cast<std::int32_t>(context.rows[i].rows);
    step.chunk = chunk;
    segment.steps.push_back({step});
    segment.bands.push_back({0, step.row_end});
  }
  return true;
}

/// The number of strips and the step that are predicted fastest, when the full width does not fit.
void choose_strips(const PlanContext& context, SegmentPlan& segment, const LocalSegment& local,
                   std::int64_t& rows_per_step, double predicted_us) {
  constexpr std::int64_t kMaxStrips = 8;
  constexpr double kMinGain = 0.97;
  double best = predicted_us * kMinGain;
  for (std::int64_t count = std::max<std::int64_t>(2, context.min_strips);
       count <= kMaxStrips && segment.nodes.size() > 1; count *= 2) {
    auto strips = cut_strips(context, local, count);
    if (!strips) return;
    const double recomputed = recomputed_share(context, local, *strips);
    const bool forced = context.min_strips > 1 && segment.strips.empty();
    if (forced) segment.strips = *strips;
    for (const std::int64_t step :
         step_candidates(context, context.rows[static_cast<std::size_t>(segment.nodes.back())].rows)) {
      const double cost = segment_cost(context, local, step, count, recomputed);
      if (cost >= best) continue;
      best = segment.predicted_us = cost;
      rows_per_step = step;
      segment.strips = *strips;
    }
  }
}

/// Bytes of a row of one node's output in its widest strip.
std::int64_t strip_row_bytes(const SegmentPlan& segment, std::size_t local, std::int64_t row_bytes,
                             std::int64_t width) {
  std::int64_t widest = segment.strips.empty() ? width : 0;
  for (const auto& columns : segment.strips) widest = std::max(widest, columns[local].size());
  return row_bytes / width * widest;
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
    ring.row_bytes = strip_row_bytes(segment, i, context.rows[static_cast<std::size_t>(node.node)].row_bytes,
                                     row_shape(context.graph.value(ring.value).type.static_shape()).width);
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

void plan_rows(const PlanContext& context, SegmentPlan& segment, std::int64_t rows_per_step, double predicted_us) {
  int threads = predicted_us * context.threads < kMicrosecondsWorthSharing ? 1 : context.threads;
  const bool share_images = threads > 1 && segment.images >= threads;
  if (!share_images && plan_channels(context, segment, threads)) return;
  const LocalSegment local = local_segment(context, segment.nodes, segment.nodes.size() > 1);
  choose_strips(context, segment, local, rows_per_step, predicted_us);
  std::optional<ScheduleResult> schedule;
  std::int64_t bands = share_images ? 1 : threads;
  for (; !schedule; --bands) schedule = make_schedule(local, bands, rows_per_step);
  ++bands;
  segment.sharing = share_images ? Sharing::images : bands > 1 ? Sharing::bands : Sharing::single;
  segment.rows_per_step = rows_per_step;
  segment.steps = std::move(schedule->steps);
  segment.bands = std::move(schedule->bands);
  for (ChunkGroup group : local.chunk_groups) {
    for (std::int32_t& member : group.nodes) member = local.nodes[static_cast<std::size_t>(member)].node;
    segment.chunk_groups.push_back(std::move(group));
  }
  add_rings(context, segment, local, *schedule);
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
  segment.ring_level = memory_level(context.topology, segment.ring_bytes + segment.weights_bytes, threads);
  segment.whole_level = memory_level(context.topology, whole_bytes, threads);
}

SegmentPlan plan_segment(const PlanContext& context, const SegmentChoice& choice) {
  SegmentPlan segment;
  segment.kind = kind_of(context, choice.nodes);
  segment.nodes = choice.nodes;
  segment.ends_because = choice.ends_because;
  segment.predicted_us = choice.predicted_us;
  segment.images = context.rows[static_cast<std::size_t>(choice.nodes.front())].images;
  if (segment.kind == SegmentPlan::Kind::island) {
    Step step;
    step.node = choice.nodes.front();
    step.row_end = 1;
    segment.steps.push_back({step});
  } else if (segment.kind != SegmentPlan::Kind::view) {
    if (context.choices[static_cast<std::size_t>(choice.nodes.front())].by_rows())
      plan_rows(context, segment, choice.rows_per_step, choice.predicted_us);
    else
      plan_units(context, segment, context.threads);
  }
  count_traffic(context, segment);
  return segment;
}

/// The value whose bytes `id` shows: views are followed back to what they view.
ValueId root_of(const PlanContext& context, ValueId id) {
  for (;;) {
    const std::int32_t producer = context.producer[static_cast<std::size_t>(id)];
    if (producer < 0 || context.choices[static_cast<std::size_t>(producer)].family != Family::view) return id;
    id = context.graph.nodes[static_cast<std::size_t>(producer)].inputs[0];
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
  for (std::size_t s = 0; s < plan.segments.size(); ++s)
    for (const std::int32_t index : plan.segments[s].nodes) {
      const Node& node = graph.nodes[static_cast<std::size_t>(index)];
      for (const auto& ids : {node.inputs, node.outputs})
        for (const ValueId id : ids)
          if (id != kAbsent)
            lifetimes[static_cast<std::size_t>(root_of(context, id))].touch(static_cast<std::int32_t>(s));
    }
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    Storage& storage = plan.storage[i];
    storage.root = root_of(context, static_cast<ValueId>(i));
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
      add_block(ring.thread_stride * instances, at, at, &ring.offset);
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

Plan plan_with(const PlanContext& context) {
  Plan plan;
  plan.options = context.options;
  plan.threads = context.threads;
  plan.choices = context.choices;
  for (const SegmentChoice& choice : choose_segments(context)) {
    plan.segments.push_back(plan_segment(context, choice));
    plan.flop += plan.segments.back().flop;
  }
  place_values(context, plan);
  return plan;
}

}  // namespace

Plan make_plan(const Graph& graph, const Topology& topology, const PlanOptions& options) {
  PlanContext context = make_context(graph, topology, options);
  Plan plan = plan_with(context);
  if (options.memory_limit_bytes == 0 || plan.arena_bytes <= options.memory_limit_bytes) return plan;
  std::int64_t smallest = plan.arena_bytes;
  for (int threads = context.threads; threads >= 1; threads /= 2)
    for (const std::int64_t strips : {0, 1, 2, 4, 8}) {  // 0: full width, steps as fast as they can be
      PlanContext frugal = context;
      frugal.options.schedule = Schedule::columns;
      frugal.threads = threads;
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
