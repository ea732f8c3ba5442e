// SPDX-License-Identifier: Apache-2.0
#include "plan/estimate.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "plan/strips.hpp"

namespace colonnade {
namespace {

constexpr double kMicro = 1e6;
// Of what streams through once, arithmetic hides this share of its own time, but never the last share of memory's.
constexpr double kHiding = 0.3;
constexpr double kLeastExposed = 0.3;
constexpr double kExposedNear = 0.9;  // of a step of a ring: the rows were just written
// Memory is worth something in itself: a byte of a whole tensor, or of rings beyond L2, counts as this much of a byte
// more.
constexpr double kMemoryPrice = 2.5;
// Share of a band that its start may lie above or below the middle of its nodes' starts.
constexpr double kMostSkew = 0.5;

/// What `memory` seconds add to `arithmetic` seconds.
double exposed(double memory, double arithmetic) {
  return std::max(kLeastExposed * memory, memory - kHiding * arithmetic);
}

}  // namespace

SegmentEstimate::SegmentEstimate(const PlanContext& context, std::int64_t strips)
    : context_(context), strips_(strips), states_(context.order.size()) {}

void SegmentEstimate::start(std::size_t end, std::int64_t rows_per_step) {
  rows_per_step_ = rows_per_step;
  end_ = begin_ = end;
  sink_rows_ = ring_bytes_ = resident_bytes_ = 0;
  images_ = 1;
  compute_ = unbalanced_ = cold_ = price_ = visits_ = skew_ = work_above_ = work_ = 0;
}

double SegmentEstimate::beyond(std::int64_t bytes) const { return context_.reach.seconds_beyond_l2(bytes); }

bool SegmentEstimate::add() {
  const auto node = static_cast<std::size_t>(context_.order[begin_ - 1]);
  const RowNode& rows = context_.rows[node];
  State state;
  state.whole = context_.last_use[node] >= end_;
  std::int64_t sinks = sink_rows_;
  if (context_.first_use[node] >= end_) sinks = std::max(sinks, rows.rows);
  if (sinks > sink_rows_ && begin_ < end_) {  // steps are counted in rows of the largest sink
    const std::size_t target = begin_;
    start(end_, rows_per_step_);
    sink_rows_ = sinks;
    while (begin_ > target)
      if (!add()) return false;
  }
  sink_rows_ = sinks;
  images_ = rows.images;

  std::int64_t lowest = 0;
  take_rows(state, node, lowest);
  take_band(state, node);
  if (strips_ > 1 && !take_columns(state, node)) return false;
  --begin_;
  states_[begin_] = state;
  const std::int64_t live_rows = state.whole ? 0 : std::clamp<std::int64_t>(state.after - lowest, 1, rows.rows);
  take_traffic(states_[begin_], node, live_rows);
  feed_consumers(node);
  return true;
}

void SegmentEstimate::take_rows(State& state, std::size_t node, std::int64_t& lowest) {
  const RowNode& rows = context_.rows[node];
  const std::int64_t step = rows_per_step_ > 0 ? std::min(rows_per_step_, sink_rows_) : sink_rows_;
  const auto last = static_cast<std::size_t>(context_.order[end_ - 1]);
  const std::int64_t unit = std::max(step, context_.rows[last].granularity);
  const std::int64_t middle = std::min(round_up(sink_rows_ / 2, unit), sink_rows_ - step);
  bool sink = true;
  for (const Reader& reader : context_.readers[node]) {
    const std::size_t at = context_.position[static_cast<std::size_t>(reader.node)];
    if (at >= end_ || context_.map(reader).whole()) continue;
    sink = false;
    const State& consumer = states_[at];
    if (consumer.before > 0)
      state.before =
          std::max<std::int64_t>(state.before, context_.map(reader).end[static_cast<std::size_t>(consumer.before - 1)]);
    if (consumer.after > 0)
      state.after =
          std::max<std::int64_t>(state.after, context_.map(reader).end[static_cast<std::size_t>(consumer.after - 1)]);
  }
  if (sink) {
    state.before = rows.rows * middle / sink_rows_;
    state.after = ceil_div(rows.rows * (middle + step), sink_rows_);
  }
  state.before = std::min(rows.rows, round_up(state.before, rows.granularity));
  state.after = std::min(rows.rows, round_up(std::max<std::int64_t>(1, state.after), rows.granularity));
  lowest = state.after;
  for (const Reader& reader : context_.readers[node]) {
    const std::size_t at = context_.position[static_cast<std::size_t>(reader.node)];
    if (at >= end_ || context_.map(reader).whole()) continue;
    const auto next = static_cast<std::size_t>(states_[at].before);
    if (next < context_.map(reader).begin.size())
      lowest = std::min<std::int64_t>(lowest, context_.map(reader).begin[next]);
  }
}

/// A second band whose sinks start in the middle starts in every node where its consumers need nothing above it.
void SegmentEstimate::take_band(State& state, std::size_t node) {
  const RowNode& rows = context_.rows[node];
  const auto last = static_cast<std::size_t>(context_.order[end_ - 1]);
  const std::int64_t middle = round_up(ceil_div(sink_rows_, 2), context_.rows[last].granularity);
  bool sink = true;
  std::int64_t start = rows.rows;
  for (const Reader& reader : context_.readers[node]) {
    const std::size_t at = context_.position[static_cast<std::size_t>(reader.node)];
    if (at >= end_ || context_.map(reader).whole()) continue;
    sink = false;
    const auto& begin = context_.map(reader).begin;
    const auto row = static_cast<std::size_t>(states_[at].band);
    if (row < begin.size()) start = std::min<std::int64_t>(start, begin[row]);
  }
  if (sink) start = round_up(rows.rows * middle / sink_rows_, rows.granularity);
  state.band = start - start % rows.granularity;
  const double above = static_cast<double>(middle) / static_cast<double>(sink_rows_) -
                       static_cast<double>(state.band) / static_cast<double>(rows.rows);
  const double seconds = context_.work[node].seconds;
  skew_ = std::max(skew_, above);
  work_above_ += seconds * above;
  work_ += seconds;
}

bool SegmentEstimate::take_columns(State& state, std::size_t node) {
  const ColumnWindow& window = context_.windows[node];
  if (!window.known || window.width < strips_ * kMinStripColumns) return false;
  Interval columns = state.whole ? strip_share(window, strips_ / 2, strips_) : Interval{};
  for (const Reader& reader : context_.readers[node]) {
    const std::size_t at = context_.position[static_cast<std::size_t>(reader.node)];
    if (at < end_)
      columns = hull(columns, input_columns(context_.windows[static_cast<std::size_t>(reader.node)], window.width,
                                            states_[at].columns));
  }
  state.columns = strip_grain(columns, window);
  const double overlap = static_cast<double>(strips_ * state.columns.size()) / static_cast<double>(window.width) - 1;
  state.recomputed = 1 + std::max(0.0, overlap) * static_cast<double>(strips_ - 1) / static_cast<double>(strips_);
  return true;
}

void SegmentEstimate::take_traffic(State& state, std::size_t node, std::int64_t live_rows) {
  const RowNode& rows = context_.rows[node];
  const NodeWork& work = context_.work[node];
  const std::int64_t step_rows =
      std::clamp<std::int64_t>(state.after - state.before, std::min(rows.granularity, rows.rows), rows.rows);
  const auto steps = static_cast<double>(ceil_div(rows.rows, step_rows) * images_ * strips_);
  const double all = state.recomputed;
  const std::int64_t units = ceil_div(rows.rows, rows.granularity) * images_;
  const int threads = context_.threads;
  const double imbalance = static_cast<double>(ceil_div(units, threads) * threads) / static_cast<double>(units);
  const double seconds = all * work.seconds + steps * work.visit_seconds;
  compute_ += seconds;
  unbalanced_ += seconds * (begin_ + 1 == end_ ? imbalance : 1 + (imbalance - 1) / 2);
  state.visits = steps;
  visits_ += steps;

  const std::int64_t written = rows.row_bytes * rows.rows * images_ - context_.placed_bytes[node];
  const std::int64_t moved = written + context_.read_bytes[node];
  const std::int64_t step_bytes = moved / std::max<std::int64_t>(1, rows.rows * images_) * step_rows / strips_;
  const double inner_bytes = all * static_cast<double>(context_.read_bytes[node]);
  state.seconds = seconds;
  state.near_seconds = inner_bytes * beyond(step_bytes + work.weights_bytes);
  const std::int32_t group = context_.chunk_group[node];
  if (group >= 0) {
    const std::int64_t count = context_.chunk_groups[static_cast<std::size_t>(group)].count();
    state.chunk_seconds = inner_bytes * beyond((step_bytes + work.weights_bytes) / count);
  }
  if (!state.whole) {
    state.far_bytes += 2 * all * static_cast<double>(written);
    const std::int64_t kept = std::min(step_rows, std::max<std::int64_t>(0, live_rows - step_rows));
    states_[context_.last_use[node]].far_bytes +=
        all * static_cast<double>(written) * static_cast<double>(kept) / static_cast<double>(step_rows);
    if (!context_.hosted(node)) {
      ring_bytes_ += live_rows * rows.row_bytes / strips_;
      resident_bytes_ += live_rows * rows.row_bytes / strips_;
    }
  }
  resident_bytes_ += work.weights_bytes;
  cold_ += context_.cold_seconds(node);
  state.far_bytes += static_cast<double>(work.weights_bytes) * std::max(0.0, steps - threads);
  state.whole_bytes = context_.read_bytes[node] + (state.whole ? 2 * written : 0);
  if (state.whole) price_ += kMemoryPrice * static_cast<double>(written) * beyond(written / threads);
}

/// The consumers in the segment read the node from its ring (or, where it is kept, from what was just written).
void SegmentEstimate::feed_consumers(std::size_t node) {
  for (const Reader& reader : context_.readers[node]) {
    const std::size_t at = context_.position[static_cast<std::size_t>(reader.node)];
    if (at >= end_) continue;
    states_[at].whole_bytes -= reader.bytes;
  }
  const std::int32_t index = context_.chunk_group[node];
  if (index < 0) return;
  const ChunkGroup& group = context_.chunk_groups[static_cast<std::size_t>(index)];
  if (static_cast<std::size_t>(group.nodes.front()) != node ||
      context_.position[static_cast<std::size_t>(group.nodes.back())] >= end_)
    return;
  for (const std::int32_t member : group.nodes) {
    State& state = states_[context_.position[static_cast<std::size_t>(member)]];
    state.near_seconds = state.chunk_seconds;
    visits_ += state.visits * static_cast<double>(group.count() - 1);
  }
}

/// What memory beyond L2 adds to the arithmetic of all nodes.
double SegmentEstimate::memory_seconds() const {
  const double far = beyond(resident_bytes_);
  double seconds = 0;
  for (std::size_t at = begin_; at < end_; ++at) {
    const State& state = states_[at];
    const double whole =
        state.recomputed * static_cast<double>(state.whole_bytes) * beyond(state.whole_bytes / context_.threads);
    seconds += exposed(whole + far * state.far_bytes, state.seconds) + kExposedNear * state.near_seconds;
  }
  return seconds;
}

double SegmentEstimate::memory_price_us(int threads) const {
  return kMicro * (price_ / threads + kMemoryPrice * static_cast<double>(ring_bytes_) * beyond(ring_bytes_));
}

bool SegmentEstimate::splits(int threads) const {
  // Equal work a band moves the sinks down by what lies above them in the mean.
  const double down = work_ > 0 ? work_above_ / work_ : 0;
  return images_ >= threads || std::max(down, skew_ - down) * threads < kMostSkew;
}

double SegmentEstimate::arithmetic_us(int threads) const {
  return kMicro * (threads > 1 ? unbalanced_ : compute_) / threads;
}

double SegmentEstimate::microseconds(int threads) const {
  const double rounds = static_cast<double>(images_ >= threads ? 1 : images_ * strips_);
  const double sharing = threads > 1 ? rounds * context_.topology.rates.barrier_us : 0;
  return arithmetic_us(threads) + (kMicro * memory_seconds() + visits_ * context_.topology.rates.step_us) / threads +
         kMicro * cold_ + sharing;
}

}  // namespace colonnade
