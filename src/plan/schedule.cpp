// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "plan/bands.hpp"

namespace colonnade {
namespace {

/// One band's walk. RowsOf [begin, end) per node; counters of rows done; live rows measured as they are produced.
class Walk {
 public:
  Walk(const LocalSegment& segment, const RowsOf& begins, const RowsOf& ends, const RowsOf& heads,
       std::int64_t rows_per_step)
      : segment_(segment),
        ends_(ends),
        heads_(heads),
        begins_(begins),
        done_(begins),
        waited_(ends),
        live_(RowsOf::of(begins.size())),
        sharers_(ByLocal<std::vector<LocalIndex>>::of(begins.size())) {
    for (const LocalIndex i : begins.indices()) sharers_[ring_of(i)].push_back(i);
    std::int64_t sink_rows = 1;
    for (const LocalNode& node : segment.nodes)
      if (node.consumers.empty()) sink_rows = std::max(sink_rows, node.rows);
    for (const LocalNode& node : segment.nodes)
      quanta_.push_back(round_up(ceil_div(node.rows * rows_per_step, sink_rows), node.granularity));
  }

  /// Computes the rows of a node below `upto`, at most its share of a step at a time, so that no ring has to hold more.
  void produce(LocalIndex i, std::int64_t upto) {
    const LocalNode& node = segment_.nodes[i];
    const std::int64_t target = std::min(round_up(upto, node.granularity), ends_[i]);
    while (done_[i] < target) {
      const std::int64_t next = std::min(target, round_up(done_[i] + quanta_[i], node.granularity));
      if (node.chunk_group != kNoGroup) {
        produce_chunks(segment_.chunk_groups[node.chunk_group], next);
        continue;
      }
      for (const LocalInput& input : node.inputs) require(input, next);
      emit(i, next, -1);
      advance(i, next);
    }
  }

  /// Computes the head of a node that chunk groups begin with before any group runs: a group waits for rows of the next
  /// band before its first chunk, and announces its own with its last one.
  void produce_head(LocalIndex i) {
    const LocalNode& node = segment_.nodes[i];
    if (heads_[i] == 0 || node.chunk_group == kNoGroup) return;
    const LocalChunks& group = segment_.chunk_groups[node.chunk_group];
    const std::int64_t target = std::min(round_up(begins_[i] + heads_[i], node.granularity), ends_[i]);
    if (group.nodes.front() != i || done_[i] >= target) return;
    for (const LocalInput& input : node.inputs) require(input, target);
    for (std::int32_t chunk = 0; chunk < group.count(); ++chunk) emit(i, target, chunk);
    advance(i, target);
  }

  /// Whether the next band's rows of a node are waited for before its own head of that node is announced: then bands
  /// wait for each other one after another.
  bool is_chained() const {
    ByLocal<std::int64_t> announced = begins_;
    for (const Step& step : steps_) {
      if (step.kind == Step::Kind::run && !step.publish) continue;
      for (const LocalIndex i : begins_.indices()) {
        if (segment_.nodes[i].node != step.node) continue;
        if (step.kind == Step::Kind::run) announced[i] = step.row_end;
        if (step.kind == Step::Kind::wait && announced[i] < begins_[i] + heads_[i]) return true;
      }
    }
    return false;
  }

  std::vector<Step> take_steps() { return std::move(steps_); }
  const RowsOf& live() const { return live_; }
  std::int64_t begin(LocalIndex i) const { return begins_[i]; }

 private:
  static std::int64_t needed_end(const LocalInput& input, std::int64_t target) { return input.map->end[target - 1]; }

  /// Has the rows of a producer that output rows below `target` need: computed here, or waited for.
  void require(const LocalInput& input, std::int64_t target) {
    const std::int64_t needed = needed_end(input, target);
    produce(input.producer, std::min(needed, ends_[input.producer]));
    wait(input.producer, needed);
  }

  void wait(LocalIndex producer, std::int64_t needed) {
    if (needed <= waited_[producer]) return;
    waited_[producer] = needed;
    steps_.push_back(Step::wait_for(segment_.nodes[producer].node, needed));
  }

  /// A member of a group and the rows below which it is computed.
  struct Target {
    LocalIndex node{};
    std::int64_t rows = 0;
  };

  /// What each member must have computed for the last one's rows.
  std::vector<Target> targets_of(const LocalChunks& group, std::int64_t tail_target) const {
    std::vector<Target> targets;
    for (const LocalIndex member : group.nodes) targets.push_back({member, tail_target});
    for (std::size_t k = targets.size() - 1; k > 0; --k) {
      const LocalIndex p = targets[k - 1].node;
      std::int64_t needed = done_[p];
      for (const LocalInput& input : segment_.nodes[targets[k].node].inputs)
        if (input.producer == p && targets[k].rows > 0) needed = std::max(needed, needed_end(input, targets[k].rows));
      targets[k - 1].rows =
          std::max(done_[p], std::min(round_up(std::min(needed, ends_[p]), segment_.nodes[p].granularity), ends_[p]));
    }
    return targets;
  }

  bool pending(const Target& target) const { return target.rows > done_[target.node]; }

  void produce_chunks(const LocalChunks& group, std::int64_t tail_target) {
    const std::vector<Target> targets = targets_of(group, tail_target);
    for (std::size_t k = 0; k < targets.size(); ++k)
      for (const LocalInput& input : segment_.nodes[targets[k].node].inputs)
        if ((k == 0 || input.producer != targets[k - 1].node) && pending(targets[k])) require(input, targets[k].rows);
    wait_for_chunks(targets);
    for (std::int32_t chunk = 0; chunk < group.count(); ++chunk)
      for (const Target& target : targets)
        if (pending(target)) emit(target.node, target.rows, chunk);
    for (const Target& target : targets)
      if (pending(target)) advance(target.node, target.rows);
  }

  /// RowsOf of chunked producers that lie in the next band.
  void wait_for_chunks(const std::vector<Target>& targets) {
    for (std::size_t k = 1; k < targets.size(); ++k)
      for (const LocalInput& input : segment_.nodes[targets[k].node].inputs)
        if (input.producer == targets[k - 1].node && pending(targets[k]))
          wait(input.producer, needed_end(input, targets[k].rows));
  }

  void emit(LocalIndex i, std::int64_t target, std::int32_t chunk) {
    const LocalNode& node = segment_.nodes[i];
    Step step = Step::run_rows(node.node, {done_[i], target}, chunk);
    const bool last_chunk = chunk < 0 || chunk + 1 == segment_.chunk_groups[node.chunk_group].count();
    step.publish = heads_[i] > 0 && last_chunk;
    steps_.push_back(step);
  }

  /// First row in the ring of node i that is still needed, not counting rows from `written` on.
  std::int64_t lowest_row(LocalIndex i, std::int64_t written) const {
    const std::int64_t ring_begin = begins_[i] + heads_[i];
    std::int64_t lowest = std::max(written, ring_begin);
    for (const LocalIndex c : segment_.nodes[i].consumers) {
      if (done_[c] >= ends_[c]) continue;
      for (const LocalInput& input : segment_.nodes[c].inputs)
        if (input.producer == i) lowest = std::min<std::int64_t>(lowest, input.map->begin[done_[c]]);
    }
    return std::max(lowest, ring_begin);
  }

  LocalIndex ring_of(LocalIndex i) const { return segment_.nodes[i].host == kNotLocal ? i : segment_.nodes[i].host; }

  /// Counts the rows that the ring of node i must hold once rows below `target` are written.
  void advance(LocalIndex i, std::int64_t target) {
    std::int64_t lowest = lowest_row(i, done_[i]), highest = target;
    const LocalIndex ring = ring_of(i);
    for (const LocalIndex other : sharers_[ring]) {
      const std::int64_t low = other == i ? lowest : lowest_row(other, done_[other]);
      if (low >= done_[other]) continue;
      lowest = std::min(lowest, low);
      highest = std::max(highest, done_[other]);
    }
    live_[ring] = std::max(live_[ring], highest - lowest);
    done_[i] = target;
  }

  const LocalSegment& segment_;
  const RowsOf& ends_;
  const RowsOf& heads_;
  RowsOf begins_, done_, waited_, live_, quanta_;
  ByLocal<std::vector<LocalIndex>> sharers_;  ///< nodes whose outputs lie in a node's ring, its own included
  std::vector<Step> steps_;
};

std::vector<LocalIndex> sinks_of(const LocalSegment& segment) {
  std::vector<LocalIndex> sinks;
  for (const LocalIndex i : segment.nodes.indices())
    if (segment.nodes[i].consumers.empty()) sinks.push_back(i);
  return sinks;
}

/// Walks rows [begins, ends) to the end.
void walk_down(Walk& walk, const LocalSegment& segment, const RowsOf& ends, std::int64_t rows_per_step) {
  const std::vector<LocalIndex> sinks = sinks_of(segment);
  std::int64_t largest = 0;
  for (const LocalIndex sink : sinks) largest = std::max(largest, ends[sink] - walk.begin(sink));
  const std::int64_t steps = std::max<std::int64_t>(1, ceil_div(largest, rows_per_step));
  for (std::int64_t step = 1; step <= steps; ++step)
    for (const LocalIndex sink : sinks) {
      const std::int64_t span = ends[sink] - walk.begin(sink);
      const std::int64_t rows = largest == span ? std::min(span, step * rows_per_step) : ceil_div(span * step, steps);
      walk.produce(sink, walk.begin(sink) + rows);
    }
}

/// Computes the rows of whole values that no node of the segment reads.
void finish_whole(Walk& walk, const LocalSegment& segment, const RowsOf& ends) {
  for (const LocalIndex i : segment.nodes.indices())
    if (segment.nodes[i].whole) walk.produce(i, ends[i]);
}

void take_rows(ScheduleResult& result, const LocalSegment& segment, const RowsOf& live, const RowsOf& heads) {
  for (const LocalIndex i : segment.nodes.indices()) {
    if (segment.nodes[i].whole) continue;
    result.ring_rows[i] = std::max(result.ring_rows[i], live[i]);
    result.head_rows[i] = std::max(result.head_rows[i], heads[i]);
  }
}

/// Nothing where bands would wait for each other one after another. `heads_first`: as far as it takes to avoid that.
std::optional<ScheduleResult> walk_bands(const LocalSegment& segment, const Bands& bands, std::int64_t rows_per_step,
                                         bool heads_first) {
  ScheduleResult result;
  result.ring_rows = result.head_rows = RowsOf::of(segment.nodes.size());
  result.repeated = bands.repeated;
  for (const std::int64_t band : bands.starts.indices()) {
    const RowsOf &starts = bands.starts[band], &ends = bands.ends[band], &heads = bands.heads[band];
    Walk walk(segment, starts, ends, heads, rows_per_step);
    for (const LocalIndex i : segment.nodes.indices())
      if (heads_first) walk.produce_head(i);
    walk_down(walk, segment, ends, rows_per_step);
    finish_whole(walk, segment, ends);
    if (walk.is_chained()) return std::nullopt;
    result.steps.push_back(walk.take_steps());
    result.bands.push_back({starts.back(), ends.back()});
    take_rows(result, segment, walk.live(), heads);
  }
  for (const LocalIndex i : segment.nodes.indices())
    if (segment.nodes[i].host != kNotLocal) result.ring_rows[i] = result.ring_rows[segment.nodes[i].host];
  return result;
}

}  // namespace

std::optional<ScheduleResult> make_schedule(const LocalSegment& segment, std::int64_t count, std::int64_t rows_per_step,
                                            bool twice) {
  const std::optional<Bands> bands = cut_bands(segment, count, twice);
  if (!bands) return std::nullopt;
  if (auto result = walk_bands(segment, *bands, rows_per_step, false)) return result;
  return walk_bands(segment, *bands, rows_per_step, true);
}

}  // namespace colonnade
