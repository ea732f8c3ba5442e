// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace colonnade {
namespace {

using Rows = std::vector<std::int64_t>;

/// First row of `node` that needs no row of its producers above their `starts`, at least `wish`, on the granularity.
std::int64_t first_row_below(const LocalNode& node, const Rows& starts, std::int64_t wish) {
  std::int64_t row = wish;
  for (const LocalInput& input : node.inputs) {
    const auto& begins = input.map->begin;
    const auto limit = static_cast<std::int32_t>(starts[static_cast<std::size_t>(input.producer)]);
    const auto found = std::lower_bound(begins.begin(), begins.end(), limit);
    row = std::max<std::int64_t>(row, found - begins.begin());
  }
  return std::min(round_up(row, node.granularity), node.rows);
}

/// Where a band starts in every node, when it should start at `fraction` of the work.
Rows band_starts(const LocalSegment& segment, double fraction) {
  Rows starts(segment.nodes.size(), 0);
  for (std::size_t i = 0; i < segment.nodes.size(); ++i) {
    const LocalNode& node = segment.nodes[i];
    const double wish = node.inputs.empty() ? fraction * static_cast<double>(node.rows) : 0;
    starts[i] = first_row_below(node, starts, std::max<std::int64_t>(0, static_cast<std::int64_t>(wish)));
  }
  return starts;
}

/// Fraction of the work above the given starts.
double work_above(const LocalSegment& segment, const Rows& starts) {
  double above = 0, all = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const LocalNode& node = segment.nodes[i];
    above += node.weight * static_cast<double>(starts[i]) / static_cast<double>(node.rows);
    all += node.weight;
  }
  return all > 0 ? above / all : 0;
}

/// band_starts corrected for the skew, which shifts work to the band above.
Rows balanced_starts(const LocalSegment& segment, double fraction) {
  double low = 0, high = fraction;
  for (int round = 0; round < 12; ++round) {
    const double middle = (low + high) / 2;
    (work_above(segment, band_starts(segment, middle)) < fraction ? low : high) = middle;
  }
  const Rows below = band_starts(segment, low), above = band_starts(segment, high);
  const double error_below = fraction - work_above(segment, below), error_above = work_above(segment, above) - fraction;
  return error_below < error_above ? below : above;
}

/// One band's walk. Rows [begin, end) per node; counters of rows done; live rows measured as they are produced.
class Walk {
 public:
  Walk(const LocalSegment& segment, const Rows& begins, const Rows& ends, const Rows& heads, std::int64_t rows_per_step)
      : segment_(segment),
        ends_(ends),
        heads_(heads),
        begins_(begins),
        done_(begins),
        waited_(ends),
        live_(begins.size(), 0),
        sharers_(begins.size()) {
    for (std::size_t i = 0; i < begins.size(); ++i)
      sharers_[segment.nodes[i].host < 0 ? i : static_cast<std::size_t>(segment.nodes[i].host)].push_back(i);
    std::int64_t sink_rows = 1;
    for (const LocalNode& node : segment.nodes)
      if (node.consumers.empty()) sink_rows = std::max(sink_rows, node.rows);
    for (const LocalNode& node : segment.nodes)
      quanta_.push_back(round_up(ceil_div(node.rows * rows_per_step, sink_rows), node.granularity));
  }

  /// Computes the rows of a node below `upto`, at most its share of a step at a time, so that no ring has to hold more.
  void produce(std::int32_t index, std::int64_t upto) {
    const auto i = static_cast<std::size_t>(index);
    const LocalNode& node = segment_.nodes[i];
    const std::int64_t target = std::min(round_up(upto, node.granularity), ends_[i]);
    while (done_[i] < target) {
      const std::int64_t next = std::min(target, round_up(done_[i] + quanta_[i], node.granularity));
      if (node.chunk_group >= 0) {
        produce_chunks(segment_.chunk_groups[static_cast<std::size_t>(node.chunk_group)], next);
        continue;
      }
      for (const LocalInput& input : node.inputs) require(input, next);
      emit(index, next, -1);
      advance(i, next);
    }
  }

  std::vector<Step> take_steps() { return std::move(steps_); }
  const Rows& live() const { return live_; }
  std::int64_t begin(std::size_t i) const { return begins_[i]; }

 private:
  static std::int64_t needed_end(const LocalInput& input, std::int64_t target) {
    return input.map->end[static_cast<std::size_t>(target - 1)];
  }

  /// Has the rows of a producer that output rows below `target` need: computed here, or waited for.
  void require(const LocalInput& input, std::int64_t target) {
    const auto p = static_cast<std::size_t>(input.producer);
    const std::int64_t needed = needed_end(input, target);
    produce(input.producer, std::min(needed, ends_[p]));
    if (needed <= waited_[p]) return;
    waited_[p] = needed;
    Step step;
    step.kind = Step::Kind::wait;
    step.node = segment_.nodes[p].node;
    step.row_end = static_cast<std::int32_t>(needed);
    steps_.push_back(step);
  }

  void produce_chunks(const ChunkGroup& group, std::int64_t tail_target) {
    Rows targets(group.nodes.size());
    targets.back() = tail_target;
    for (std::size_t k = group.nodes.size() - 1; k > 0; --k) {
      const LocalNode& node = segment_.nodes[static_cast<std::size_t>(group.nodes[k])];
      const auto p = static_cast<std::size_t>(group.nodes[k - 1]);
      std::int64_t needed = done_[p];
      for (const LocalInput& input : node.inputs)
        if (input.producer == group.nodes[k - 1] && targets[k] > 0)
          needed = std::max(needed, needed_end(input, targets[k]));
      targets[k - 1] =
          std::max(done_[p], std::min(round_up(std::min(needed, ends_[p]), segment_.nodes[p].granularity), ends_[p]));
    }
    for (std::size_t k = 0; k < group.nodes.size(); ++k)
      for (const LocalInput& input : segment_.nodes[static_cast<std::size_t>(group.nodes[k])].inputs)
        if (k == 0 || input.producer != group.nodes[k - 1]) {
          if (targets[k] > done_[static_cast<std::size_t>(group.nodes[k])]) require(input, targets[k]);
        }
    wait_for_chunks(group, targets);
    for (std::int64_t chunk = 0; chunk < group.count(); ++chunk)
      for (std::size_t k = 0; k < group.nodes.size(); ++k)
        if (targets[k] > done_[static_cast<std::size_t>(group.nodes[k])])
          emit(group.nodes[k], targets[k], static_cast<std::int32_t>(chunk));
    for (std::size_t k = 0; k < group.nodes.size(); ++k)
      if (targets[k] > done_[static_cast<std::size_t>(group.nodes[k])])
        advance(static_cast<std::size_t>(group.nodes[k]), targets[k]);
  }

  /// Rows of chunked producers that lie in the next band.
  void wait_for_chunks(const ChunkGroup& group, const Rows& targets) {
    for (std::size_t k = 1; k < group.nodes.size(); ++k)
      for (const LocalInput& input : segment_.nodes[static_cast<std::size_t>(group.nodes[k])].inputs) {
        const auto p = static_cast<std::size_t>(input.producer);
        if (input.producer != group.nodes[k - 1] || targets[k] <= done_[static_cast<std::size_t>(group.nodes[k])])
          continue;
        const std::int64_t needed = needed_end(input, targets[k]);
        if (needed <= waited_[p]) continue;
        waited_[p] = needed;
        Step step;
        step.kind = Step::Kind::wait;
        step.node = segment_.nodes[p].node;
        step.row_end = static_cast<std::int32_t>(needed);
        steps_.push_back(step);
      }
  }

  void emit(std::int32_t index, std::int64_t target, std::int32_t chunk) {
    const auto i = static_cast<std::size_t>(index);
    Step step;
    const std::int32_t group = segment_.nodes[i].chunk_group;
    const bool last_chunk = chunk < 0 || chunk + 1 == segment_.chunk_groups[static_cast<std::size_t>(group)].count();
    step.publish = heads_[i] > 0 && last_chunk;
    step.node = segment_.nodes[i].node;
    step.row_begin = static_cast<std::int32_t>(done_[i]);
    step.row_end = static_cast<std::int32_t>(target);
    step.chunk = chunk;
    steps_.push_back(step);
  }

  /// First row in the ring of node i that is still needed, not counting rows from `written` on.
  std::int64_t lowest_row(std::size_t i, std::int64_t written) const {
    const std::int64_t ring_begin = begins_[i] + heads_[i];
    std::int64_t lowest = std::max(written, ring_begin);
    for (const std::int32_t consumer : segment_.nodes[i].consumers) {
      const auto c = static_cast<std::size_t>(consumer);
      if (done_[c] >= ends_[c]) continue;
      for (const LocalInput& input : segment_.nodes[c].inputs)
        if (static_cast<std::size_t>(input.producer) == i)
          lowest = std::min<std::int64_t>(lowest, input.map->begin[static_cast<std::size_t>(done_[c])]);
    }
    return std::max(lowest, ring_begin);
  }

  /// Counts the rows that the ring of node i must hold once rows below `target` are written.
  void advance(std::size_t i, std::int64_t target) {
    std::int64_t lowest = lowest_row(i, done_[i]), highest = target;
    const auto ring = segment_.nodes[i].host < 0 ? i : static_cast<std::size_t>(segment_.nodes[i].host);
    for (const std::size_t other : sharers_[ring]) {
      const std::int64_t low = other == i ? lowest : lowest_row(other, done_[other]);
      if (low >= done_[other]) continue;
      lowest = std::min(lowest, low);
      highest = std::max(highest, done_[other]);
    }
    live_[ring] = std::max(live_[ring], highest - lowest);
    done_[i] = target;
  }

  const LocalSegment& segment_;
  const Rows& ends_;
  const Rows& heads_;
  Rows begins_, done_, waited_, live_, quanta_;
  std::vector<std::vector<std::size_t>> sharers_;  ///< nodes whose outputs lie in a node's ring, its own included
  std::vector<Step> steps_;
};

std::vector<std::int32_t> sinks_of(const LocalSegment& segment) {
  std::vector<std::int32_t> sinks;
  for (std::size_t i = 0; i < segment.nodes.size(); ++i)
    if (segment.nodes[i].consumers.empty()) sinks.push_back(static_cast<std::int32_t>(i));
  return sinks;
}

/// Walks rows [begins, ends) to the end.
void walk_down(Walk& walk, const LocalSegment& segment, const Rows& ends, std::int64_t rows_per_step) {
  const auto sinks = sinks_of(segment);
  std::int64_t largest = 0;
  for (const std::int32_t sink : sinks) {
    const auto i = static_cast<std::size_t>(sink);
    largest = std::max(largest, ends[i] - walk.begin(i));
  }
  const std::int64_t steps = std::max<std::int64_t>(1, ceil_div(largest, rows_per_step));
  for (std::int64_t step = 1; step <= steps; ++step)
    for (const std::int32_t sink : sinks) {
      const auto i = static_cast<std::size_t>(sink);
      const std::int64_t span = ends[i] - walk.begin(i);
      const std::int64_t rows = largest == span ? std::min(span, step * rows_per_step) : ceil_div(span * step, steps);
      walk.produce(sink, walk.begin(i) + rows);
    }
}

/// Computes the rows of whole values that no node of the segment reads.
void finish_whole(Walk& walk, const LocalSegment& segment, const Rows& ends) {
  for (std::size_t i = 0; i < segment.nodes.size(); ++i)
    if (segment.nodes[i].whole) walk.produce(static_cast<std::int32_t>(i), ends[i]);
}

/// Rows at the top of each band that the band above reads.
Rows head_rows_of(const LocalSegment& segment, const Rows& starts) {
  Rows heads(segment.nodes.size(), 0);
  for (std::size_t c = 0; c < segment.nodes.size(); ++c) {
    if (starts[c] == 0) continue;
    for (const LocalInput& input : segment.nodes[c].inputs) {
      const auto p = static_cast<std::size_t>(input.producer);
      heads[p] = std::max<std::int64_t>(heads[p], input.map->end[static_cast<std::size_t>(starts[c] - 1)] - starts[p]);
    }
  }
  return heads;
}

}  // namespace

std::optional<ScheduleResult> make_schedule(const LocalSegment& segment, std::int64_t bands,
                                            std::int64_t rows_per_step) {
  const std::size_t count = segment.nodes.size();
  std::vector<Rows> starts{Rows(count, 0)};
  for (std::int64_t band = 1; band < bands; ++band)
    starts.push_back(balanced_starts(segment, static_cast<double>(band) / static_cast<double>(bands)));
  Rows all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = segment.nodes[i].rows;
  starts.push_back(all);

  std::vector<Rows> heads{Rows(count, 0)};
  for (std::int64_t band = 1; band < bands; ++band)
    heads.push_back(head_rows_of(segment, starts[static_cast<std::size_t>(band)]));
  for (std::size_t band = 0; band < static_cast<std::size_t>(bands); ++band)
    for (std::size_t i = 0; i < count; ++i)
      if (starts[band][i] + std::max<std::int64_t>(1, heads[band][i]) > starts[band + 1][i]) return std::nullopt;

  ScheduleResult result;
  result.ring_rows.assign(count, 0);
  result.head_rows.assign(count, 0);
  for (std::size_t band = 0; band < static_cast<std::size_t>(bands); ++band) {
    Walk walk(segment, starts[band], starts[band + 1], heads[band], rows_per_step);
    walk_down(walk, segment, starts[band + 1], rows_per_step);
    finish_whole(walk, segment, starts[band + 1]);
    result.steps.push_back(walk.take_steps());
    result.bands.push_back({starts[band].back(), starts[band + 1].back()});
    result.step_count = std::max(result.step_count, static_cast<std::int64_t>(result.steps.back().size()));
    for (std::size_t i = 0; i < count; ++i) {
      if (segment.nodes[i].whole) continue;
      result.ring_rows[i] = std::max(result.ring_rows[i], walk.live()[i]);
      result.head_rows[i] = std::max(result.head_rows[i], heads[band][i]);
    }
  }
  for (std::size_t i = 0; i < count; ++i)
    if (segment.nodes[i].host >= 0)
      result.ring_rows[i] = result.ring_rows[static_cast<std::size_t>(segment.nodes[i].host)];
  return result;
}

}  // namespace colonnade
