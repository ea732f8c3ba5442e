// SPDX-License-Identifier: Apache-2.0
#include "plan/place.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "plan/arena.hpp"

namespace colonnade {
namespace {

/// The value whose bytes `id` shows: views are followed back to what they view.
ValueId root_of(const PlanContext& context, ValueId id) {
  for (;;) {
    const NodeIndex producer = context.edges.producer[id];
    if (producer == kNoNode || context.choices[producer].family->scope != Scope::view) return id;
    id = node_of(context.graph, producer).inputs[0];
  }
}

/// Where a whole value lies: views are followed back to what they view, values that lie in another's rows to their
/// host.
Storage home_of(const PlanContext& context, const ByValue<bool>& in_ring, ValueId id) {
  Storage home;
  home.root = root_of(context, id);
  for (;;) {
    const Host& host = context.hosts[home.root];
    if (in_ring[home.root] || host.value == kAbsent || in_ring[host.value]) return home;
    home.host = host.value;
    home.channel += host.channel;
    home.root = root_of(context, host.value);
  }
}

/// Segments from the first to the last that use a value.
struct Lifetime {
  std::int32_t first = std::numeric_limits<std::int32_t>::max();
  std::int32_t last = -1;
  void touch(std::int32_t segment) {
    first = std::min(first, segment);
    last = std::max(last, segment);
  }
};

ByValue<bool> values_in_rings(const Plan& plan, std::size_t count) {
  auto in_ring = ByValue<bool>::of(count, false);
  for (const SegmentPlan& segment : plan.segments)
    for (const Ring& ring : segment.rings) in_ring[ring.value] = true;
  return in_ring;
}

/// When each value that others lie in, or that stands for itself, is used; homes are known.
ByValue<Lifetime> lifetimes_of(const PlanContext& context, const Plan& plan) {
  auto lifetimes = ByValue<Lifetime>::of(context.graph.values.size());
  std::int32_t at = 0;
  for (const SegmentPlan& segment : plan.segments) {
    for (const NodeIndex index : segment.nodes) {
      const Node& node = node_of(context.graph, index);
      for (const auto& ids : {node.inputs, node.outputs})
        for (const ValueId id : ids)
          if (id != kAbsent) lifetimes[plan.storage[id].root].touch(at);
    }
    ++at;
  }
  return lifetimes;
}

/// Whose bytes each value's are, and the places that the caller or the model gives.
ByValue<Storage> find_homes(const PlanContext& context, const ByValue<bool>& in_ring) {
  const Graph& graph = context.graph;
  ByValue<Storage> homes;
  for (const ValueId id : values_of(graph)) {
    Storage home = home_of(context, in_ring, id);
    if (graph.value(id).type.is_static()) {
      home.bytes = bytes_of(graph.value(id));
      if (graph.value(home.root).constant) home.place = Place::constant;
    }
    homes.push_back(home);
  }
  for (std::int32_t i = 0; const ValueId id : graph.inputs) {
    homes[id].place = Place::input;
    homes[id].index = i++;
  }
  for (std::int32_t i = 0; const ValueId id : graph.outputs) {
    Storage& root = homes[root_of(context, id)];
    const std::int32_t index = i++;
    if (root.place != Place::nowhere) continue;  // an input, a constant or an earlier output: copied at the end
    root.place = Place::output;
    root.index = index;
  }
  return homes;
}

/// Blocks of the arena, and where their offsets go.
class ArenaBlocks {
 public:
  void add(std::int64_t bytes, std::int32_t first, std::int32_t last, std::int64_t& offset) {
    if (bytes == 0) return;
    blocks_.push_back({bytes, first, last, 0});
    offsets_.push_back(&offset);
  }

  /// Answers the arena's size.
  std::int64_t place() {
    const std::int64_t size = place_blocks(blocks_);
    for (std::size_t i = 0; i < blocks_.size(); ++i) *offsets_[i] = blocks_[i].offset;
    return size;
  }

 private:
  std::vector<Block> blocks_;
  std::vector<std::int64_t*> offsets_;
};

void add_segments(ArenaBlocks& arena, Plan& plan) {
  std::int32_t at = 0;
  for (SegmentPlan& segment : plan.segments) {
    const std::int64_t instances =
        segment.sharing == Sharing::rounds ? plan.threads : static_cast<std::int64_t>(segment.steps.size());
    for (Ring& ring : segment.rings) {
      plan.storage[ring.value].place = Place::ring;
      ring.thread_stride = round_up(ring.bytes_a_thread(), 64);
      arena.add(ring.thread_stride * instances - ring.head_bytes(), at, at, ring.offset);
    }
    arena.add(segment.shared_bytes + segment.scratch_bytes * instances, at, at, segment.scratch_offset);
    ++at;
  }
}

void add_whole_values(ArenaBlocks& arena, Plan& plan, const ByValue<Lifetime>& lifetimes) {
  for (const ValueId id : plan.storage.indices()) {
    Storage& storage = plan.storage[id];
    const Lifetime& lifetime = lifetimes[id];
    if (storage.place != Place::nowhere || storage.root != id || lifetime.last < 0) continue;
    storage.place = Place::arena;
    arena.add(std::max<std::int64_t>(storage.bytes, 1), lifetime.first, lifetime.last, storage.offset);
  }
}

/// Views and what lies in another's rows have the places of their roots.
void follow_roots(ByValue<Storage>& storage) {
  for (Storage& follower : storage) {
    if (follower.place != Place::nowhere || follower.root == kAbsent) continue;
    const Storage& root = storage[follower.root];
    follower.place = root.place;
    follower.index = root.index;
    follower.offset = root.offset;
  }
}

}  // namespace

void place_values(const PlanContext& context, Plan& plan) {
  plan.storage = find_homes(context, values_in_rings(plan, context.graph.values.size()));
  const ByValue<Lifetime> lifetimes = lifetimes_of(context, plan);
  ArenaBlocks arena;
  add_segments(arena, plan);
  add_whole_values(arena, plan, lifetimes);
  plan.arena_bytes = arena.place();
  follow_roots(plan.storage);
}

}  // namespace colonnade
