// SPDX-License-Identifier: Apache-2.0
#include "plan/segment.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "base/checked.hpp"
#include "plan/chunks.hpp"

namespace colonnade {
namespace {

constexpr std::size_t kMaxSegmentNodes = 40;
constexpr double kMinGain = 0.97;  // columns must be predicted this much faster than layers

/// Topological order that goes on with row-wise nodes while any is ready, then takes the oldest other node.
std::vector<std::int32_t> row_first_order(const PlanContext& context) {
  const Graph& graph = context.graph;
  std::vector<std::int32_t> missing(graph.nodes.size(), 0);
  std::set<std::int32_t> row_ready, other_ready;
  const auto make_ready = [&](std::size_t i) {
    (context.choices[i].by_rows() ? row_ready : other_ready).insert(static_cast<std::int32_t>(i));
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId id : graph.nodes[i].inputs)
      if (id != kAbsent && context.producer[static_cast<std::size_t>(id)] >= 0) ++missing[i];
    if (missing[i] == 0) make_ready(i);
  }
  std::vector<std::int32_t> order;
  while (!row_ready.empty() || !other_ready.empty()) {
    std::set<std::int32_t>& source = row_ready.empty() ? other_ready : row_ready;
    const std::int32_t next = *source.begin();
    source.erase(source.begin());
    order.push_back(next);
    for (const ValueId out : graph.nodes[static_cast<std::size_t>(next)].outputs) {
      if (out == kAbsent) continue;
      for (const std::int32_t consumer : context.consumers[static_cast<std::size_t>(out)])
        if (--missing[static_cast<std::size_t>(consumer)] == 0) make_ready(static_cast<std::size_t>(consumer));
    }
  }
  return order;
}

/// Why `node` cannot join the segment that holds `members`; empty when it can.
std::string refusal(const PlanContext& context, const std::vector<std::int32_t>& members, std::int32_t node) {
  const auto i = static_cast<std::size_t>(node);
  const Node& candidate = context.graph.nodes[i];
  if (!context.choices[i].by_rows()) {
    const Family family = context.choices[i].family;
    if (family == Family::view) return "the next operator reshapes";
    return family == Family::island ? "the next operator is an island" : "the next operator needs all rows";
  }
  if (context.rows[i].images != context.rows[static_cast<std::size_t>(members.front())].images)
    return "the number of images changes";
  for (std::size_t k = 0; k < candidate.inputs.size(); ++k) {
    const ValueId id = candidate.inputs[k];
    if (id == kAbsent) continue;
    const std::int32_t producer = context.producer[static_cast<std::size_t>(id)];
    if (producer < 0 || std::find(members.begin(), members.end(), producer) == members.end()) continue;
    if (context.rows[i].inputs[k].whole()) return "the next operator needs all rows";
    if (context.choices[static_cast<std::size_t>(producer)].family == Family::to_channels_first)
      return "its output leaves the engine's layout";
  }
  return {};
}

struct Candidate {
  double cost = std::numeric_limits<double>::infinity();
  std::int64_t rows_per_step = 0;
};

Candidate best_step(const PlanContext& context, const std::vector<std::int32_t>& nodes) {
  const LocalSegment segment = local_segment(context, nodes, true);
  std::int64_t rows = 1;
  for (const LocalNode& node : segment.nodes)
    if (node.consumers.empty()) rows = std::max(rows, node.rows);
  Candidate best;
  for (const std::int64_t step : step_candidates(context, rows)) {
    if (nodes.size() > 1 && step > 1 && 2 * step > rows) continue;  // rings as large as the tensors
    const double cost = segment_cost(context, segment, step);
    if (cost < best.cost) best = {cost, step};
  }
  return best;
}

double alone_cost(const PlanContext& context, std::int32_t node) {
  const NodeWork& work = context.work[static_cast<std::size_t>(node)];
  return 1e-3 * work.flop / (work.efficiency * context.topology.rates.fma_gflops) + context.topology.rates.barrier_us;
}

}  // namespace

PlanContext make_context(const Graph& graph, const Topology& topology, const PlanOptions& options) {
  PlanContext context{graph, topology, options, std::max(1, options.threads), {}, {}, {}, {}, {}, {}, {}};
  for (const Node& node : graph.nodes) context.choices.push_back(choose_kernel(graph, node, options.math));
  context.rows = row_nodes(graph, context.choices);
  context.work = node_work(graph, context.choices);
  context.hosts = find_hosts(graph, context.choices, context.rows);
  context.producer.assign(graph.values.size(), -1);
  context.is_output.assign(graph.values.size(), false);
  context.consumers = consumers_of(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const ValueId out : graph.nodes[i].outputs)
      if (out != kAbsent) context.producer[static_cast<std::size_t>(out)] = static_cast<std::int32_t>(i);
  for (const ValueId out : graph.outputs) context.is_output[static_cast<std::size_t>(out)] = true;
  return context;
}

std::vector<std::int64_t> step_candidates(const PlanContext& context, std::int64_t rows) {
  if (context.small_steps) return {1};
  std::vector<std::int64_t> steps;
  for (const std::int64_t step : {1, 2, 4, 8, 16, 32})
    if (step < rows) steps.push_back(step);
  steps.push_back(rows);
  return steps;
}

namespace {

/// Settles which nodes' outputs are whole and which lie in another's ring: what has its host in a whole tensor is
/// whole, what is whole for another reason cannot lie in a ring.
class Placing {
 public:
  Placing(const PlanContext& context, const std::vector<std::int32_t>& local, LocalSegment& segment)
      : context_(context), local_(local), segment_(segment), settled_(segment.nodes.size(), false) {
    for (std::size_t i = 0; i < segment_.nodes.size(); ++i) settle(i);
    for (LocalNode& node : segment_.nodes) count(node);
  }

 private:
  /// Local index of the node that computes the value; -1: made elsewhere, so whole.
  std::int32_t maker(ValueId id) const {
    const std::int32_t producer = context_.producer[static_cast<std::size_t>(id)];
    return producer < 0 ? -1 : local_[static_cast<std::size_t>(producer)];
  }
  bool whole(ValueId id) const {
    const std::int32_t node = maker(id);
    return node < 0 || segment_.nodes[static_cast<std::size_t>(node)].whole;
  }

  void settle(std::size_t i) {
    if (settled_[i]) return;
    settled_[i] = true;
    LocalNode& node = segment_.nodes[i];
    const Host& host = context_.hosts[static_cast<std::size_t>(output(node))];
    if (host.value == kAbsent) return;
    const std::int32_t at = maker(host.value);
    if (at >= 0) settle(static_cast<std::size_t>(at));
    if (whole(host.value))
      node.whole = true;
    else if (!node.whole)
      node.host = segment_.nodes[static_cast<std::size_t>(at)].host < 0
                      ? at
                      : segment_.nodes[static_cast<std::size_t>(at)].host;
  }

  void count(LocalNode& node) const {
    const Node& graph_node = context_.graph.nodes[static_cast<std::size_t>(node.node)];
    for (const ValueId id : graph_node.inputs) {
      if (id == kAbsent || context_.graph.value(id).constant) continue;
      const ValueId out = output(node);
      const bool part = context_.hosts[static_cast<std::size_t>(id)].value == out,
                 slice = context_.hosts[static_cast<std::size_t>(out)].value == id;
      const bool placed = (part || slice) && whole(id) == whole(out);
      const std::int64_t bytes = bytes_of(context_.graph.value(placed && slice ? out : id));
      if (placed)
        node.placed_bytes += bytes;
      else
        (maker(id) >= 0 ? node.inner_bytes : node.outer_bytes) += bytes;
    }
  }

  ValueId output(const LocalNode& node) const {
    return context_.graph.nodes[static_cast<std::size_t>(node.node)].outputs[0];
  }

  const PlanContext& context_;
  const std::vector<std::int32_t>& local_;
  LocalSegment& segment_;
  std::vector<bool> settled_;
};

}  // namespace

LocalSegment local_segment(const PlanContext& context, const std::vector<std::int32_t>& nodes, bool chunks) {
  LocalSegment segment;
  std::vector<std::int32_t> local(context.graph.nodes.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    local[static_cast<std::size_t>(nodes[i])] = static_cast<std::int32_t>(i);
  for (const std::int32_t index : nodes) {
    const auto i = static_cast<std::size_t>(index);
    const Node& node = context.graph.nodes[i];
    LocalNode entry;
    entry.node = index;
    entry.rows = context.rows[i].rows;
    entry.granularity = context.rows[i].granularity;
    entry.weight = context.work[i].flop / context.work[i].efficiency + 1;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId id = node.inputs[k];
      if (id == kAbsent || context.graph.value(id).constant) continue;
      const std::int32_t producer = context.producer[static_cast<std::size_t>(id)];
      if (producer < 0 || local[static_cast<std::size_t>(producer)] < 0) continue;
      entry.inputs.push_back({local[static_cast<std::size_t>(producer)], &context.rows[i].inputs[k]});
    }
    const auto out = static_cast<std::size_t>(node.outputs[0]);
    entry.whole = context.is_output[out];
    for (const std::int32_t consumer : context.consumers[out]) {
      const std::int32_t inside = local[static_cast<std::size_t>(consumer)];
      if (inside < 0)
        entry.whole = true;
      else if (entry.consumers.empty() || entry.consumers.back() != inside)
        entry.consumers.push_back(inside);
    }
    segment.nodes.push_back(std::move(entry));
  }
  Placing(context, local, segment);
  if (chunks) find_chunks(context, segment);
  return segment;
}

double segment_cost(const PlanContext& context, const LocalSegment& segment, std::int64_t rows_per_step,
                    std::int64_t strips, double recomputed) {
  const auto live = estimate_ring_rows(segment, rows_per_step);
  std::int64_t sink_rows = 1, resident = 0;
  for (std::size_t i = 0; i < segment.nodes.size(); ++i) {
    const LocalNode& node = segment.nodes[i];
    const auto n = static_cast<std::size_t>(node.node);
    if (node.consumers.empty()) sink_rows = std::max(sink_rows, node.rows);
    if (!node.whole && node.host < 0) resident += live[i] * context.rows[n].row_bytes / strips;
    resident += context.work[n].weights_bytes;
  }
  SegmentTime time(context.topology, context.threads, resident);
  std::int64_t images = 1;
  for (std::size_t i = 0; i < segment.nodes.size(); ++i) {
    const LocalNode& node = segment.nodes[i];
    const auto n = static_cast<std::size_t>(node.node);
    images = context.rows[n].images;
    NodeTraffic traffic;
    traffic.rows = node.rows;
    traffic.rows_per_step =
        std::min(node.rows, round_up(ceil_div(node.rows * rows_per_step, sink_rows), node.granularity));
    traffic.live_rows = node.whole ? 0 : live[i];
    traffic.strips = strips;
    traffic.recomputed = recomputed;
    traffic.chunks =
        node.chunk_group < 0 ? 1 : segment.chunk_groups[static_cast<std::size_t>(node.chunk_group)].count();
    traffic.written_bytes = images * node.rows * context.rows[n].row_bytes - node.placed_bytes;
    traffic.inner_bytes = node.inner_bytes;
    traffic.outer_bytes = node.outer_bytes;
    time.add(context.work[n], traffic);
  }
  const std::int64_t walks = images * strips * ceil_div(sink_rows, rows_per_step);
  return time.microseconds(ceil_div(walks, context.threads), static_cast<std::int64_t>(segment.nodes.size()));
}

std::vector<SegmentChoice> choose_segments(const PlanContext& context) {
  const std::vector<std::int32_t> order = row_first_order(context);
  const std::size_t count = order.size();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> best(count + 1, kInfinity);
  std::vector<std::size_t> from(count + 1, 0);
  std::vector<Candidate> choice(count + 1);
  std::vector<std::string> reason(count + 1);
  best[0] = 0;
  for (std::size_t begin = 0; begin < count; ++begin) {
    std::vector<std::int32_t> members{order[begin]};
    const bool by_rows = context.choices[static_cast<std::size_t>(order[begin])].by_rows();
    for (std::size_t end = begin + 1; end <= count; ++end) {
      const bool alone = end == begin + 1;
      Candidate candidate = by_rows ? best_step(context, members) : Candidate{alone_cost(context, order[begin]), 0};
      double cost = candidate.cost;
      if (context.options.schedule == Schedule::columns && by_rows) cost = 1 + 1e-6 * cost;
      if (context.options.schedule == Schedule::automatic && !alone) cost /= kMinGain;
      if (best[begin] + cost < best[end]) {
        best[end] = best[begin] + cost;
        from[end] = begin;
        choice[end] = candidate;
      }
      if (end == count || !by_rows) break;
      if (context.options.schedule == Schedule::layers || members.size() == kMaxSegmentNodes) break;
      if (!refusal(context, members, order[end]).empty()) break;
      members.push_back(order[end]);
    }
  }
  std::vector<SegmentChoice> segments;
  for (std::size_t end = count; end > 0; end = from[end]) {
    SegmentChoice segment;
    segment.nodes.assign(order.begin() + static_cast<std::ptrdiff_t>(from[end]),
                         order.begin() + static_cast<std::ptrdiff_t>(end));
    segment.rows_per_step = choice[end].rows_per_step;
    segment.predicted_us = choice[end].cost;
    if (end == count)
      segment.ends_because = "the graph ends";
    else if (const std::string why = refusal(context, segment.nodes, order[end]); !why.empty())
      segment.ends_because = why;
    else if (context.options.schedule == Schedule::layers)
      segment.ends_because = "one operator after another was asked for";
    else if (segment.nodes.size() >= kMaxSegmentNodes)
      segment.ends_because = "longest segment";
    else
      segment.ends_because = "a cut here is predicted faster";
    segments.push_back(std::move(segment));
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

}  // namespace colonnade
