// SPDX-License-Identifier: Apache-2.0
#include "plan/search.hpp"

#include <algorithm>
#include <limits>

#include "base/interruption.hpp"
#include "plan/candidates.hpp"

namespace colonnade {
namespace {

Border border_of(const PlanContext& context, NodeIndex node) { return context.choices[node].family->border; }

/// Why `node` cannot join the segment that holds `members`; empty when it can.
std::string refusal(const PlanContext& context, const ByLocal<NodeIndex>& members, NodeIndex node) {
  if (!context.by_rows(node)) {
    const Scope scope = context.choices[node].family->scope;
    if (scope == Scope::view) return "the next operator reshapes";
    return scope == Scope::island ? "the next operator is an island" : "the next operator needs all rows";
  }
  if (context.rows[node].images != context.rows[members.front()].images) return "the number of images changes";
  const Node& candidate = node_of(context.graph, node);
  for (std::size_t k = 0; k < candidate.inputs.size(); ++k) {
    const ValueId id = candidate.inputs[k];
    if (id == kAbsent) continue;
    const NodeIndex producer = context.edges.producer[id];
    if (producer == kNoNode || std::find(members.begin(), members.end(), producer) == members.end()) continue;
    if (context.rows[node].inputs[k].whole()) return "the next operator needs all rows";
    if (border_of(context, node) == Border::enters) return "its output is in another layout than the engine's";
    if (border_of(context, producer) == Border::leaves) return "its output leaves the engine's layout";
  }
  return {};
}

/// Whether the node at position `begin` may join the segment that goes on to `end`.
bool may_join(const PlanContext& context, std::size_t begin, std::size_t end) {
  const NodeIndex node = context.order.nodes[begin];
  if (!context.by_rows(node)) return false;
  if (context.rows[node].images != context.rows[context.order.nodes[begin + 1]].images) return false;
  if (context.order.first_use[node] >= end) return true;
  if (border_of(context, node) == Border::leaves) return false;
  const auto& readers = context.edges.readers[node];
  return std::none_of(readers.begin(), readers.end(), [&](const Reader& reader) {
    // what it reads is channels first: its rows are not those of the image
    const bool other_rows = border_of(context, reader.node) == Border::enters;
    return context.order.position[reader.node] < end && (other_rows || context.map(reader).whole());
  });
}

class Search {
 public:
  Search(const PlanContext& context, const Team& team, const Wish& wish)
      : context_(context),
        team_(team),
        wish_(wish),
        growth_(context, team, wish),
        best_(context.order.nodes.size() + 1),
        alone_us_(context.order.nodes.size()) {
    best_.front().cost = 0;
  }

  std::vector<SegmentChoice> run() {
    for (std::size_t end = 1; end < best_.size(); ++end) {
      interruption_point();
      find_last_segment(end);
    }
    std::vector<SegmentChoice> segments;
    for (std::size_t end = best_.size() - 1; end > 0; end = best_[end].begin) segments.push_back(segment(end));
    std::reverse(segments.begin(), segments.end());
    return segments;
  }

 private:
  /// Of all nodes before a position: what they cost, and their last segment.
  struct Best {
    double cost = std::numeric_limits<double>::infinity();
    std::size_t begin = 0;
    SegmentCandidate candidate;
  };

  void find_last_segment(std::size_t end) {
    const bool by_rows = context_.by_rows(context_.order.nodes[end - 1]);
    if (by_rows) growth_.start(end);
    consider(end - 1, end, alone(end - 1, by_rows));
    if (!by_rows || wish_.schedule == Schedule::layers) return;
    for (std::size_t begin = end - 1; begin-- > 0;) {
      if (!growth_.alive() || !may_join(context_, begin, end)) return;
      consider(begin, end, growth_.add(alone_us_[begin]));
    }
  }

  SegmentCandidate alone(std::size_t at, bool by_rows) {
    const NodeIndex node = context_.order.nodes[at];
    SegmentCandidate candidate = by_rows ? growth_.add(0) : whole_node(context_, team_, node);
    if (by_rows) {
      const SegmentCandidate channels = by_channels(context_, team_, node);
      if (channels.us < candidate.us) candidate = channels;
    }
    alone_us_[at] = candidate.us;
    return candidate;
  }

  void consider(std::size_t begin, std::size_t end, const SegmentCandidate& candidate) {
    double cost = candidate.cost();
    if (wish_.schedule == Schedule::columns && context_.by_rows(context_.order.nodes[end - 1])) cost = 1 + 1e-6 * cost;
    if (best_[begin].cost + cost < best_[end].cost) best_[end] = {best_[begin].cost + cost, begin, candidate};
  }

  SegmentChoice segment(std::size_t end) const {
    const auto& [cost, begin, candidate] = best_[end];
    SegmentChoice segment;
    for (std::size_t at = begin; at < end; ++at) segment.nodes.push_back(context_.order.nodes[at]);
    segment.rows_per_step = candidate.rows_per_step;
    segment.strips = candidate.strips;
    segment.threads = candidate.threads;
    segment.channels = candidate.channels;
    segment.bands = candidate.bands;
    segment.rounds = candidate.rounds;
    segment.twice = wish_.twice;
    segment.predicted_us = candidate.us;
    segment.arithmetic_us = candidate.arithmetic_us;
    segment.ends_because = end + 1 == best_.size() ? "the graph ends" : reason_to_end(segment.nodes, end);
    return segment;
  }

  std::string reason_to_end(const ByLocal<NodeIndex>& members, std::size_t end) const {
    if (std::string why = refusal(context_, members, context_.order.nodes[end]); !why.empty()) return why;
    return wish_.schedule == Schedule::layers ? "one operator after another was asked for"
                                              : "a cut here is predicted faster";
  }

  const PlanContext& context_;
  const Team& team_;
  const Wish& wish_;
  Growth growth_;
  std::vector<Best> best_;        ///< by position
  std::vector<double> alone_us_;  ///< by position: of a segment of one node
};

}  // namespace

std::vector<SegmentChoice> choose_segments(const PlanContext& context, const Team& team, const Wish& wish) {
  return Search(context, team, wish).run();
}

}  // namespace colonnade
