// SPDX-License-Identifier: Apache-2.0
#include "plan/segment.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "base/checked.hpp"
#include "base/interruption.hpp"
#include "plan/chunks.hpp"
#include "plan/estimate.hpp"

namespace colonnade {
namespace {

constexpr double kMicro = 1e6;
constexpr std::int64_t kSteps[] = {1, 2, 4, 8, 16, 32, 0};  // rows; 0: all
constexpr std::int64_t kStrips[] = {1, 2, 4, 8};
// What strips must gain: the columns computed twice are counted, the shorter rows of every kernel are not.
constexpr double kStripGain = 1.1;
// A candidate this much slower than its layers is not extended.
constexpr double kHopeless = 1.3;
constexpr double kHopelessUs = 20;

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

Border border_of(const PlanContext& context, std::int32_t node) {
  return context.choices[static_cast<std::size_t>(node)].family->border;
}

/// Why `node` cannot join the segment that holds `members`; empty when it can.
std::string refusal(const PlanContext& context, const std::vector<std::int32_t>& members, std::int32_t node) {
  const auto i = static_cast<std::size_t>(node);
  const Node& candidate = context.graph.nodes[i];
  if (!context.choices[i].by_rows()) {
    const Scope scope = context.choices[i].family->scope;
    if (scope == Scope::view) return "the next operator reshapes";
    return scope == Scope::island ? "the next operator is an island" : "the next operator needs all rows";
  }
  if (context.rows[i].images != context.rows[static_cast<std::size_t>(members.front())].images)
    return "the number of images changes";
  for (std::size_t k = 0; k < candidate.inputs.size(); ++k) {
    const ValueId id = candidate.inputs[k];
    if (id == kAbsent) continue;
    const std::int32_t producer = context.producer[static_cast<std::size_t>(id)];
    if (producer < 0 || std::find(members.begin(), members.end(), producer) == members.end()) continue;
    if (context.rows[i].inputs[k].whole()) return "the next operator needs all rows";
    if (border_of(context, node) == Border::enters) return "its output is in another layout than the engine's";
    if (border_of(context, producer) == Border::leaves) return "its output leaves the engine's layout";
  }
  return {};
}

struct Estimated {
  double cost = std::numeric_limits<double>::infinity();
  double arithmetic_us = 0;
  std::int64_t rows_per_step = 0;
  std::int64_t strips = 1;
  int threads = 1;
  bool channels = false;
  double memory_price_us = 0;
};

Estimated candidate_of(const SegmentEstimate& estimate, std::int64_t step, std::int64_t strips, int threads) {
  Estimated candidate{estimate.microseconds(1), estimate.arithmetic_us(1), step > 0 ? step : estimate.sink_rows(),
                      strips};
  const double together = threads > 1 && estimate.splits(threads) ? estimate.microseconds(threads) : candidate.cost;
  if (together < candidate.cost) {
    candidate.cost = together;
    candidate.arithmetic_us = estimate.arithmetic_us(threads);
    candidate.threads = threads;
  }
  candidate.memory_price_us = estimate.memory_price_us(candidate.threads);
  return candidate;
}

/// A contraction whose threads take output channels: each reads all rows and its share of the weights.
Estimated by_channels(const PlanContext& context, std::int32_t node) {
  const auto i = static_cast<std::size_t>(node);
  Estimated candidate;
  const auto shares = channel_shares(context, node, context.threads);
  if (!shares || context.rows[i].images >= context.threads) return candidate;
  const NodeWork& work = context.work[i];
  const double share = static_cast<double>(shares->chunk_channels) / static_cast<double>(shares->channels);
  const std::int64_t written = context.rows[i].row_bytes * context.rows[i].rows;
  const double compute = work.seconds * share * context.chunk_rules[i].apart + work.visit_seconds;
  const double rows = static_cast<double>(context.read_bytes[i]) + share * 2 * static_cast<double>(written);
  // its rows come from all threads, and its channels go to threads that take rows
  const double others =
      (1 - share) * (static_cast<double>(context.read_bytes[i]) + share * static_cast<double>(written));
  candidate.cost = context.topology.rates.barrier_us + context.topology.rates.step_us +
                   kMicro * (compute + share * context.cold_seconds(i) + others * context.reach.seconds_from_others() +
                             rows * context.reach.seconds_beyond_l2(context.read_bytes[i] + written));
  candidate.arithmetic_us = kMicro * compute;
  candidate.rows_per_step = context.rows[i].rows;
  candidate.threads = context.threads;
  candidate.channels = true;
  return candidate;
}

/// A node that does not run by rows.
Estimated whole_node(const PlanContext& context, std::int32_t node) {
  const auto i = static_cast<std::size_t>(node);
  const Scope scope = context.choices[i].family->scope;
  Estimated candidate{0};
  if (scope == Scope::view) return candidate;
  const int parts =
      scope == Scope::island ? 1 : static_cast<int>(std::clamp<std::int64_t>(context.rows[i].rows, 1, context.threads));
  const double alone = kMicro * context.work[i].seconds;
  const double saved = alone - alone / parts - context.topology.rates.barrier_us;
  if (saved > 0) candidate.threads = parts;
  candidate.arithmetic_us = alone / candidate.threads;
  candidate.cost = context.topology.rates.step_us + alone - std::max(0.0, saved);
  return candidate;
}

/// Whether the node at position `begin` may join the segment that goes on to `end`.
bool may_join(const PlanContext& context, std::size_t begin, std::size_t end) {
  const auto node = static_cast<std::size_t>(context.order[begin]);
  if (!context.choices[node].by_rows()) return false;
  if (context.rows[node].images != context.rows[static_cast<std::size_t>(context.order[begin + 1])].images)
    return false;
  if (context.first_use[node] >= end) return true;
  if (border_of(context, context.order[begin]) == Border::leaves) return false;
  return std::none_of(context.readers[node].begin(), context.readers[node].end(), [&](const Reader& reader) {
    const auto reading = static_cast<std::size_t>(reader.node);
    // what it reads is channels first: its rows are not those of the image
    const bool other_rows = border_of(context, reader.node) == Border::enters;
    return context.position[reading] < end && (other_rows || context.map(reader).whole());
  });
}

/// Segments that end at one position, growing towards the inputs: one estimate for each step and number of strips.
class Growth {
 public:
  explicit Growth(const PlanContext& context) : context_(context) {
    for (const std::int64_t strips : kStrips) {
      if (strips > 1 && strips < context.min_strips) continue;
      for (const std::int64_t step : kSteps)
        if (!context.small_steps || step == 1) runs_.push_back({strips, step, SegmentEstimate(context, strips)});
    }
  }

  void start(std::size_t end) {
    length_ = 0;
    layers_us_ = 0;
    for (Run& run : runs_) {
      run.estimate.start(end, run.step);
      run.alive = true;
    }
  }

  /// Takes the next node in; its best candidate alone, which the sum of layers is made of, is `alone_us`.
  Estimated add(double alone_us) {
    ++length_;
    layers_us_ += alone_us;
    Estimated best, best_in_strips;
    for (Run& run : runs_) {
      if (!run.alive) continue;
      run.alive = run.estimate.add();
      if (!run.alive || (length_ == 1 && run.strips > 1)) continue;
      const std::int64_t rows = run.estimate.sink_rows();
      if (run.step > 1 && run.step >= rows) continue;  // the same as all rows
      if (length_ > 1 && run.step != 1 && (run.step == 0 || 2 * run.step > rows))
        continue;  // rings as large as the tensors
      const Estimated candidate = candidate_of(run.estimate, run.step, run.strips, context_.threads);
      if (context_.options.schedule == Schedule::automatic && candidate.cost > kHopeless * layers_us_ + kHopelessUs &&
          length_ > 1)
        run.alive = false;
      Estimated& slot = run.strips >= context_.min_strips && run.strips > 1 ? best_in_strips : best;
      if (candidate.cost + candidate.memory_price_us < slot.cost + slot.memory_price_us) slot = candidate;
    }
    const bool strips_first = context_.min_strips > 1 && best_in_strips.cost < std::numeric_limits<double>::infinity();
    return strips_first || kStripGain * best_in_strips.cost < best.cost ? best_in_strips : best;
  }

  bool alive() const {
    return std::any_of(runs_.begin(), runs_.end(), [](const Run& run) { return run.alive; });
  }

 private:
  struct Run {
    std::int64_t strips = 1, step = 1;
    SegmentEstimate estimate;
    bool alive = true;
  };
  const PlanContext& context_;
  std::vector<Run> runs_;
  std::size_t length_ = 0;
  double layers_us_ = 0;
};

/// Readers, positions and what else follows from the order. What lies where it is read or written already (hosts)
/// costs nothing to read, to write or to copy.
void follow_edges(PlanContext& context) {
  const Graph& graph = context.graph;
  const std::size_t count = graph.nodes.size();
  context.position.assign(count, 0);
  for (std::size_t at = 0; at < count; ++at) context.position[static_cast<std::size_t>(context.order[at])] = at;
  context.readers.assign(count, {});
  context.read_bytes.assign(count, 0);
  context.placed_bytes.assign(count, 0);
  context.first_use.assign(count, count);
  context.last_use.assign(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = graph.nodes[i];
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId id = node.inputs[k];
      if (id == kAbsent || graph.value(id).constant) continue;
      const bool part = context.hosts[static_cast<std::size_t>(id)].value == node.outputs[0];
      const bool slice = context.hosts[static_cast<std::size_t>(node.outputs[0])].value == id;
      if (part || slice) context.placed_bytes[i] += bytes_of(graph.value(slice ? node.outputs[0] : id));
      const std::int64_t bytes = part || slice ? 0 : bytes_of(graph.value(id));
      context.read_bytes[i] += bytes;
      const std::int32_t producer = context.producer[static_cast<std::size_t>(id)];
      if (producer < 0) continue;
      const auto p = static_cast<std::size_t>(producer);
      context.readers[p].push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(k), bytes});
      context.first_use[p] = std::min(context.first_use[p], context.position[i]);
      context.last_use[p] = std::max(context.last_use[p], context.position[i]);
    }
    if (context.placed_bytes[i] > 0) {
      const auto all = static_cast<double>(bytes_of(graph.value(node.outputs[0])));
      context.work[i].seconds *= 1 - static_cast<double>(context.placed_bytes[i]) / all;
    }
    for (const ValueId out : node.outputs)
      if (out != kAbsent && (context.is_output[static_cast<std::size_t>(out)] ||
                             context.consumers[static_cast<std::size_t>(out)].empty()))
        context.last_use[i] = count;
  }
}

/// Chunk groups of the whole graph, as if it were one segment.
void find_all_chunks(PlanContext& context) {
  std::vector<std::int32_t> row_nodes;
  for (const std::int32_t node : context.order)
    if (context.choices[static_cast<std::size_t>(node)].by_rows()) row_nodes.push_back(node);
  LocalSegment all = local_segment(context, row_nodes, true);
  context.chunk_group.assign(context.graph.nodes.size(), -1);
  for (ChunkGroup& group : all.chunk_groups) {
    for (std::int32_t& member : group.nodes) {
      member = all.nodes[static_cast<std::size_t>(member)].node;
      context.chunk_group[static_cast<std::size_t>(member)] = static_cast<std::int32_t>(context.chunk_groups.size());
    }
    context.chunk_groups.push_back(std::move(group));
  }
}

}  // namespace

PlanContext make_context(const Graph& graph, const Topology& topology, const PlanOptions& options) {
  PlanContext context{graph, topology, options};
  context.choices = choose_families(graph, options.math, topology.features);
  context.rows = row_nodes(graph, context.choices);
  context.work = node_work(graph, context.choices, topology.rates);
  context.windows = column_windows(graph, context.choices);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    context.chunk_rules.push_back(context.choices[i].family->chunks({{graph, graph.nodes[i]}, context.choices[i]}));
  context.hosts = find_hosts(graph, context.choices, context.rows);
  context.producer.assign(graph.values.size(), -1);
  context.is_output.assign(graph.values.size(), false);
  context.consumers = consumers_of(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const ValueId out : graph.nodes[i].outputs)
      if (out != kAbsent) context.producer[static_cast<std::size_t>(out)] = static_cast<std::int32_t>(i);
  for (const ValueId out : graph.outputs) context.is_output[static_cast<std::size_t>(out)] = true;
  context.order = row_first_order(context);
  follow_edges(context);
  find_all_chunks(context);
  set_threads(context, std::max(1, options.threads));
  return context;
}

void set_threads(PlanContext& context, int threads) {
  context.threads = threads;
  context.reach = CacheReach(context.topology, threads);
  std::int64_t weights = 0;
  for (const NodeWork& work : context.work) weights += work.weights_bytes;
  context.cold_weights = context.reach.seconds_beyond_l2(weights);
}

namespace {

/// Settles which nodes' outputs are whole and which lie in another's ring: what has its host in a whole tensor is
/// whole, what is whole for another reason cannot lie in a ring.
class Placing {
 public:
  Placing(const PlanContext& context, const std::vector<std::int32_t>& local, LocalSegment& segment)
      : context_(context), local_(local), segment_(segment), settled_(segment.nodes.size(), false) {
    for (std::size_t i = 0; i < segment_.nodes.size(); ++i) settle(i);
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
    entry.weight = context.work[i].seconds + 1e-9;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId id = node.inputs[k];
      if (id == kAbsent || context.graph.value(id).constant) continue;
      const std::int32_t producer = context.producer[static_cast<std::size_t>(id)];
      const bool inside = producer >= 0 && local[static_cast<std::size_t>(producer)] >= 0;
      if (!inside) continue;
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

std::optional<ChunkGroup> channel_shares(const PlanContext& context, std::int32_t node, int threads) {
  const auto i = static_cast<std::size_t>(node);
  const std::int64_t share = context.chunk_rules[i].share;
  if (threads < 2 || share == 0) return std::nullopt;
  const std::int64_t channels = context.graph.value(context.graph.nodes[i].outputs[0]).type.static_shape().back();
  const std::int64_t shares = ceil_div(channels, share);
  if (shares < threads) return std::nullopt;
  return ChunkGroup{{node}, channels, ceil_div(shares, threads) * share};
}

std::vector<SegmentChoice> choose_segments(const PlanContext& context) {
  const std::size_t count = context.order.size();
  std::vector<double> best(count + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> from(count + 1, 0);
  std::vector<Estimated> choice(count + 1);
  std::vector<double> alone_us(count, 0);
  Growth growth(context);
  best[0] = 0;
  for (std::size_t end = 1; end <= count; ++end) {
    interruption_point();
    const std::int32_t last = context.order[end - 1];
    const bool by_rows = context.choices[static_cast<std::size_t>(last)].by_rows();
    if (by_rows) growth.start(end);
    for (std::size_t begin = end; begin-- > 0;) {
      const bool alone = begin + 1 == end;
      if (!alone &&
          !(by_rows && growth.alive() && context.options.schedule != Schedule::layers && may_join(context, begin, end)))
        break;
      Estimated candidate = by_rows ? growth.add(alone_us[begin]) : whole_node(context, last);
      if (alone && by_rows) {
        const Estimated channels = by_channels(context, last);
        if (channels.cost < candidate.cost) candidate = channels;
      }
      if (alone) alone_us[begin] = candidate.cost;
      double cost = candidate.cost + candidate.memory_price_us;
      if (context.options.schedule == Schedule::columns && by_rows) cost = 1 + 1e-6 * cost;
      if (best[begin] + cost < best[end]) {
        best[end] = best[begin] + cost;
        from[end] = begin;
        choice[end] = candidate;
      }
    }
  }
  std::vector<SegmentChoice> segments;
  for (std::size_t end = count; end > 0; end = from[end]) {
    SegmentChoice segment;
    segment.nodes.assign(context.order.begin() + static_cast<std::ptrdiff_t>(from[end]),
                         context.order.begin() + static_cast<std::ptrdiff_t>(end));
    segment.rows_per_step = choice[end].rows_per_step;
    segment.strips = choice[end].strips;
    segment.threads = choice[end].threads;
    segment.channels = choice[end].channels;
    segment.predicted_us = choice[end].cost;
    segment.arithmetic_us = choice[end].arithmetic_us;
    if (end == count)
      segment.ends_because = "the graph ends";
    else if (const std::string why = refusal(context, segment.nodes, context.order[end]); !why.empty())
      segment.ends_because = why;
    else if (context.options.schedule == Schedule::layers)
      segment.ends_because = "one operator after another was asked for";
    else
      segment.ends_because = "a cut here is predicted faster";
    segments.push_back(std::move(segment));
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

}  // namespace colonnade
