// SPDX-License-Identifier: Apache-2.0
// Replays a plan's steps with rows that carry their own number, so that a read of a row not yet written, or already
// recycled, is seen.
#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <tuple>

#include "base/error.hpp"
#include "plan/plan.hpp"
#include "plan/row_maps.hpp"

namespace colonnade {
namespace {

/// What one thread's instance of a ring holds: per chunk and slot the row, or -1; heads likewise. Where others lie in
/// the ring, a slot has a cell for every part of the channels that one of them begins or ends.
struct RingState {
  const Ring* ring = nullptr;
  Indexed<std::int64_t, std::int32_t> starts, ends;               ///< of each band, what it computes twice included
  std::vector<std::int64_t> cuts;                                 ///< of the channels of a ring without host
  Indexed<std::int64_t, std::vector<std::int64_t>> slots, heads;  ///< [band * chunks + chunk][slot * parts + part]

  /// Of the channels, where they begin and end.
  std::ptrdiff_t part_at(std::int64_t channel) const {
    return std::lower_bound(cuts.begin(), cuts.end(), channel) - cuts.begin();
  }
  std::size_t parts() const { return cuts.size() - 1; }
};

class Replay {
 public:
  Replay(const Graph& graph, const ByNode<RowNode>& rows, const SegmentPlan& segment)
      : graph_(graph), rows_(rows), segment_(segment) {
    for (const Ring& ring : segment.rings) add(ring);
    for (const Ring& ring : segment.rings) add_slots(ring);
  }

  /// Lower bands first would hide missing waits: bands run top to bottom, each stopping at a wait until it is met.
  void run() {
    Indexed<std::int64_t, std::span<const Step>> left;
    for (const auto& steps : segment_.steps) left.push_back(steps);
    for (bool moved = true; moved;) {
      moved = false;
      for (const std::int64_t band : left.indices())
        while (!left[band].empty() && advance(band, left[band].front())) {
          left[band] = left[band].subspan(1);
          moved = true;
        }
    }
    for (const std::int64_t band : left.indices())
      if (!left[band].empty()) fail(ErrorCode::internal, "plan: band {} waits for ever", band);
  }

 private:
  using Key = std::pair<std::int64_t, NodeIndex>;  // band, node

  void add(const Ring& ring) {
    RingState state;
    state.ring = &ring;
    const NodeIndex producer = producer_of(ring.value);
    for (const auto& steps : segment_.steps) {
      state.ends.push_back(0);
      for (const Step& step : steps) {
        if (step.kind != Step::Kind::run || step.node != producer) continue;
        if (state.starts.size() < state.ends.size()) state.starts.push_back(step.row_begin);
        state.ends.back() = std::max(state.ends.back(), step.row_end);
      }
    }
    const std::vector<std::int64_t> head(static_cast<std::size_t>(ring.head_rows), -1);
    for (std::int64_t i = 0; i < std::ssize(segment_.steps) * ring.chunk_count; ++i) state.heads.push_back(head);
    rings_[ring.value] = std::move(state);
  }

  std::int64_t channels(const Ring& ring) const { return graph_.value(ring.value).type.static_shape().back(); }

  void add_slots(const Ring& ring) {
    if (ring.type != graph_.value(ring.value).type.dtype)
      fail(ErrorCode::internal, "plan: ring of '{}' is {}, its value {}", graph_.value(ring.value).name,
           name_of(ring.type), name_of(graph_.value(ring.value).type.dtype));
    if (ring.host != kAbsent) return;
    RingState& state = rings_[ring.value];
    state.cuts = {0, channels(ring)};
    for (const Ring& part : segment_.rings)
      if (part.host == ring.value) {
        state.cuts.push_back(part.channel);
        state.cuts.push_back(part.channel + channels(part));
        if (part.rows != ring.rows || part.row_bytes != ring.row_bytes || part.chunk_count != 1 ||
            ring.chunk_count != 1)
          fail(ErrorCode::internal, "plan: ring of '{}' does not fit its host", graph_.value(part.value).name);
      }
    std::sort(state.cuts.begin(), state.cuts.end());
    state.cuts.erase(std::unique(state.cuts.begin(), state.cuts.end()), state.cuts.end());
    if (state.cuts.back() > channels(ring))
      fail(ErrorCode::internal, "plan: ring of '{}' has parts beyond its channels", graph_.value(ring.value).name);
    const std::size_t cells = static_cast<std::size_t>(std::max<std::int64_t>(1, ring.rows)) * state.parts();
    state.slots = state.slots.of(state.heads.size(), std::vector<std::int64_t>(cells, -1));
  }

  NodeIndex producer_of(ValueId value) const {
    for (const NodeIndex node : segment_.nodes)
      if (output_of(graph_, node) == value) return node;
    fail(ErrorCode::internal, "plan: ring of '{}' has no producer in its segment", graph_.value(value).name);
  }

  /// The cells that hold a row.
  std::span<std::int64_t> cells(RingState& state, std::int64_t band, std::int64_t row, std::int64_t chunk) {
    if (band + 1 < std::ssize(state.starts.items) && row >= std::max(state.ends[band], state.starts[band + 1])) {
      ++band;
      const std::int64_t in_head = row - state.starts[band];
      if (in_head >= state.ring->head_rows)
        fail(ErrorCode::internal, "plan: row {} of '{}' is beyond the next band's head", row,
             graph_.value(state.ring->value).name);
    }
    const std::int64_t index = band * state.ring->chunk_count + (state.ring->chunk_count > 1 ? chunk : 0);
    const std::int64_t in_head = row - state.starts[band];
    if (band > 0 && in_head >= 0 && in_head < state.ring->head_rows) return {state.heads[index].begin() + in_head, 1};
    RingState& owner = state.ring->host == kAbsent ? state : rings_[state.ring->host];
    const std::int64_t slot = row % std::max<std::int64_t>(1, state.ring->rows);
    const auto begin = owner.slots[index].begin() + slot * (std::ssize(owner.cuts) - 1);
    return {begin + owner.part_at(state.ring->channel),
            begin + owner.part_at(state.ring->channel + channels(*state.ring))};
  }

  bool advance(std::int64_t band, const Step& step) {
    if (step.kind == Step::Kind::wait) return done_[{band + 1, step.node}] >= step.row_end;
    read(band, step);
    write(band, step);
    return true;
  }

  void read(std::int64_t band, const Step& step) {
    const Node& node = node_of(graph_, step.node);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId id = node.inputs[k];
      const auto found = id == kAbsent ? rings_.end() : rings_.find(id);
      if (found == rings_.end()) continue;
      const RowMap& map = rows_[step.node].inputs[k];
      if (map.whole())
        fail(ErrorCode::internal, "plan: node '{}' needs all rows of ring '{}'", node.name, graph_.value(id).name);
      for (std::int64_t row = map.begin[step.row_begin]; row < map.end[step.row_end - 1]; ++row)
        for (const std::int64_t held : cells(found->second, band, row, std::max(0, step.chunk)))
          if (held != row)
            fail(ErrorCode::internal, "plan: node '{}' rows [{},{}) reads row {} of '{}', which is not there",
                 node.name, step.row_begin, step.row_end, row, graph_.value(id).name);
    }
  }

  void write(std::int64_t band, const Step& step) {
    const ValueId out = output_of(graph_, step.node);
    const auto found = rings_.find(out);
    if (found != rings_.end())
      for (std::int64_t row = step.row_begin; row < step.row_end; ++row)
        std::ranges::fill(cells(found->second, band, row, std::max(0, step.chunk)), row);
    done_[{band, step.node}] = std::max<std::int64_t>(done_[{band, step.node}], step.row_end);
  }

  const Graph& graph_;
  const ByNode<RowNode>& rows_;
  const SegmentPlan& segment_;
  std::map<ValueId, RingState> rings_;
  std::map<Key, std::int64_t> done_;
};

/// Every output row of every node is computed once (once a chunk); those of a ring that nobody reads need not be, and
/// those at the end of a band may be computed by the next band too.
void check_coverage(const Graph& graph, const ByNode<RowNode>& rows, const SegmentPlan& segment) {
  const auto in_rings = [&](NodeIndex node) {
    const ValueId out = output_of(graph, node);
    return std::any_of(segment.rings.begin(), segment.rings.end(),
                       [out](const Ring& ring) { return ring.value == out; });
  };
  struct Done {
    bool in_ring = false;
    std::vector<Interval> rows = {};
  };
  std::map<std::tuple<NodeIndex, std::int32_t, std::int32_t>, Done> done;  // by node, chunk and, in rings, band
  for (std::int32_t band = 0; const auto& steps : segment.steps) {
    for (const Step& step : steps) {
      if (step.kind != Step::Kind::run) continue;
      const bool in_ring = in_rings(step.node);
      Done& of = done[{step.node, step.chunk, in_ring ? band : 0}];
      of.in_ring = in_ring;
      of.rows.push_back({step.row_begin, step.row_end});
    }
    ++band;
  }
  for (auto& [key, of] : done) {
    const NodeIndex node = std::get<NodeIndex>(key);
    std::sort(of.rows.begin(), of.rows.end(), [](Interval a, Interval b) { return a.begin < b.begin; });
    std::int64_t next = 0;
    for (const Interval& interval : of.rows) {
      if (of.in_ring ? interval.begin < next : interval.begin != next)
        fail(ErrorCode::internal, "plan: node '{}' computes row {} {}", node_of(graph, node).name, next,
             interval.begin > next ? "never" : "twice");
      next = interval.end;
    }
    if (!of.in_ring && next != rows[node].rows)
      fail(ErrorCode::internal, "plan: node '{}' stops at row {}", node_of(graph, node).name, next);
  }
}

/// A whole value that lies in another's rows has as many of them, and its channels are some of theirs.
void check_hosts(const Plan& plan, const Graph& graph) {
  for (const ValueId id : plan.storage.indices()) {
    const Storage& storage = plan.storage[id];
    if (storage.host == kAbsent) continue;
    const RowShape shape = row_shape(graph.value(id).type.static_shape()),
                   host = row_shape(graph.value(storage.host).type.static_shape());
    const bool same_rows = shape.images == host.images && shape.rows == host.rows && shape.width == host.width;
    if (!same_rows || storage.channel < 0 || storage.channel + shape.channels > host.channels)
      fail(ErrorCode::internal, "plan: '{}' does not fit into '{}'", graph.value(id).name,
           graph.value(storage.host).name);
  }
  for (const NodeIndex node : nodes_of(graph)) {
    if (plan.choices[node].family->border != Border::enters) continue;
    const ValueId planes = node_of(graph, node).inputs[0];
    if (plan.storage[planes].host != kAbsent)
      fail(ErrorCode::internal, "plan: node '{}' reads planes of '{}', which lies in other rows",
           node_of(graph, node).name, graph.value(planes).name);
  }
}

}  // namespace

void verify(const Plan& plan, const Graph& graph) {
  check_hosts(plan, graph);
  const ByNode<RowNode> rows = row_nodes(graph, plan.choices);
  auto planned = ByNode<bool>::of(graph.nodes.size(), false);
  for (const SegmentPlan& segment : plan.segments) {
    for (const NodeIndex node : segment.nodes) {
      if (planned[node]) fail(ErrorCode::internal, "plan: node '{}' runs twice", node_of(graph, node).name);
      planned[node] = true;
    }
    if (segment.kind == SegmentPlan::Kind::view || segment.kind == SegmentPlan::Kind::island) continue;
    check_coverage(graph, rows, segment);
    Replay(graph, rows, segment).run();
  }
  for (const NodeIndex node : planned.indices())
    if (!planned[node]) fail(ErrorCode::internal, "plan: node '{}' never runs", node_of(graph, node).name);
}

}  // namespace colonnade
