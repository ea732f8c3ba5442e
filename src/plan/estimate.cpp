// SPDX-License-Identifier: Apache-2.0
#include "plan/estimate.hpp"

#include <algorithm>
#include <iterator>

#include "base/checked.hpp"
#include "base/numbers.hpp"
#include "plan/strips.hpp"

namespace colonnade {
namespace {

constexpr double kExposedNear = 0.9;  // of a step of a ring: the rows were just written
// Shares of a node's arithmetic that operands in L1 save: less is hidden anyway, more does not wait for them.
constexpr double kLeastSaved = 0.15, kMostSaved = 0.4;
// Memory is worth something in itself: a byte of a whole tensor, or of rings beyond L2, counts as this much of a byte
// more.
constexpr double kMemoryPrice = 2.5;
// Share of a band that its start may lie above or below the middle of its nodes' starts.
constexpr double kMostSkew = 0.5;

}  // namespace

SegmentEstimate::SegmentEstimate(const PlanContext& context, const Team& team, std::int64_t strips)
    : context_(context), team_(team), strips_(strips) {}

void SegmentEstimate::start(std::size_t end, std::int64_t rows_per_step) {
  rows_per_step_ = rows_per_step;
  end_ = begin_ = end;
  sink_rows_ = ring_bytes_ = resident_bytes_ = touched_bytes_ = 0;
  images_ = 1;
  apart_ = true;
  compute_ = unbalanced_ = cold_ = price_ = visits_ = skew_ = work_above_ = work_ = 0;
}

double SegmentEstimate::beyond(std::int64_t bytes) const { return team_.reach.seconds_beyond_l2(bytes); }

/// Steps are counted in rows of the largest sink.
bool SegmentEstimate::start_again_with(std::int64_t sinks) {
  const std::size_t target = begin_;
  start(end_, rows_per_step_);
  sink_rows_ = sinks;
  while (begin_ > target)
    if (!add()) return false;
  return true;
}

bool SegmentEstimate::add() {
  const NodeIndex node = context_.order.nodes[begin_ - 1];
  const RowNode& rows = context_.rows[node];
  std::int64_t sinks = sink_rows_;
  if (context_.order.first_use[node] >= end_) sinks = std::max(sinks, rows.rows);
  if (sinks > sink_rows_ && begin_ < end_ && !start_again_with(sinks)) return false;
  sink_rows_ = sinks;
  images_ = rows.images;

  if (states_.size() == end_ - begin_) states_.emplace_back();
  State& state = state_at(begin_ - 1);
  state = State();
  state.whole = context_.order.last_use[node] >= end_;
  take_rows(state, node);
  if (team_.threads > 1) take_band(state, node);
  if (strips_ > 1 && !take_columns(state, node)) return false;
  --begin_;
  take_traffic(state, node);
  feed_consumers(node);
  return true;
}

template <typename Visit>
void SegmentEstimate::for_inner(NodeIndex node, Visit&& visit) {
  for (const Reader& reader : context_.edges.readers[node]) {
    const std::size_t at = context_.order.position[reader.node];
    if (at < end_) visit(Inner{reader, state_at(at)});
  }
}

void SegmentEstimate::take_rows(State& state, NodeIndex node) {
  const RowNode& rows = context_.rows[node];
  bool sink = true;
  for_inner(node, [&](const Inner& inner) {
    const RowMap& map = context_.map(inner.reader);
    if (map.whole()) return;
    sink = false;
    const State& consumer = inner.state;
    if (consumer.before > 0) state.before = std::max<std::int64_t>(state.before, map.end[consumer.before - 1]);
    if (consumer.after > 0) state.after = std::max<std::int64_t>(state.after, map.end[consumer.after - 1]);
  });
  if (sink) {
    const std::int64_t step = rows_per_step_ > 0 ? std::min(rows_per_step_, sink_rows_) : sink_rows_;
    const std::int64_t unit = std::max(step, context_.rows[last()].granularity);
    const std::int64_t middle = std::min(round_up(sink_rows_ / 2, unit), sink_rows_ - step);
    state.before = rows.rows * middle / sink_rows_;
    state.after = ceil_div(rows.rows * (middle + step), sink_rows_);
  }
  state.before = std::min(rows.rows, round_up(state.before, rows.granularity));
  state.after = std::min(rows.rows, round_up(std::max<std::int64_t>(1, state.after), rows.granularity));
}

/// Rows that a ring of the node holds at once.
std::int64_t SegmentEstimate::live_rows(const State& state, NodeIndex node) {
  std::int64_t lowest = state.after;
  for_inner(node, [&](const Inner& inner) {
    const RowMap& map = context_.map(inner.reader);
    if (inner.state.before < std::ssize(map.begin.items))
      lowest = std::min<std::int64_t>(lowest, map.begin[inner.state.before]);
  });
  return std::clamp<std::int64_t>(state.after - lowest, 1, context_.rows[node].rows);
}

/// A second band whose sinks start in the middle starts in every node where its consumers need nothing above it.
void SegmentEstimate::take_band(State& state, NodeIndex node) {
  const RowNode& rows = context_.rows[node];
  const std::int64_t middle = round_up(ceil_div(sink_rows_, 2), context_.rows[last()].granularity);
  bool sink = true;
  std::int64_t start = rows.rows;
  for_inner(node, [&](const Inner& inner) {
    const RowMap& map = context_.map(inner.reader);
    if (map.whole()) return;
    sink = false;
    if (inner.state.band < std::ssize(map.begin.items))
      start = std::min<std::int64_t>(start, map.begin[inner.state.band]);
  });
  if (sink) start = round_up(rows.rows * middle / sink_rows_, rows.granularity);
  state.band = start - start % rows.granularity;
  const double above = real(middle) / real(sink_rows_) - real(state.band) / real(rows.rows);
  const double seconds = context_.work[node].seconds;
  skew_ = std::max(skew_, above);
  work_above_ += seconds * above;
  work_ += seconds;
}

bool SegmentEstimate::take_columns(State& state, NodeIndex node) {
  const ColumnWindow& window = context_.windows[node];
  if (!window.known || window.width < strips_ * kMinStripColumns) return false;
  const Interval share = strip_share(window, strips_ / 2, strips_);
  Interval columns = state.whole ? share : Interval{};
  for_inner(node, [&](const Inner& inner) {
    columns = hull(columns, input_columns(context_.windows[inner.reader.node], window.width, inner.state.columns));
  });
  state.columns = strip_grain(columns, window);
  if (state.whole && state.columns.size() > share.size()) apart_ = false;
  const double overlap = real(strips_ * state.columns.size()) / real(window.width) - 1;
  state.recomputed = 1 + std::max(0.0, overlap) * real(strips_ - 1) / real(strips_);
  return true;
}

void SegmentEstimate::take_traffic(State& state, NodeIndex node) {
  const RowNode& rows = context_.rows[node];
  const NodeWork& work = context_.work[node];
  const std::int64_t step_rows =
      std::clamp<std::int64_t>(state.after - state.before, std::min(rows.granularity, rows.rows), rows.rows);
  const double steps = real(ceil_div(rows.rows, step_rows) * images_ * strips_);
  const int threads = team_.threads;
  const double imbalance = threads > 1 ? context_.shares.busiest(ceil_div(rows.rows, rows.granularity), threads) : 1;
  state.seconds = state.recomputed * work.seconds + steps * work.visit_seconds;
  compute_ += state.seconds;
  unbalanced_ += state.seconds * (begin_ + 1 == end_ ? imbalance : 1 + (imbalance - 1) / 2);
  state.visits = steps;
  visits_ += steps;

  const std::int64_t written = rows.row_bytes * rows.rows * images_ - work.placed_bytes;
  const std::int64_t moved = written + work.read_bytes;
  const std::int64_t step_bytes = moved / std::max<std::int64_t>(1, rows.rows * images_) * step_rows / strips_;
  const double inner_bytes = state.recomputed * real(work.read_bytes);
  state.step_bytes = step_bytes + work.weights_bytes;
  state.near_seconds = inner_bytes * beyond(state.step_bytes);
  if (const GroupIndex group = context_.chunks.group_of[node]; group != kNoGroup)
    state.chunk_seconds =
        inner_bytes * beyond((step_bytes + work.weights_bytes) / context_.chunks.groups[group].count());
  if (!state.whole) take_ring(state, node, step_rows, real(written));
  resident_bytes_ += work.weights_bytes;
  touched_bytes_ += work.weights_bytes;
  cold_ += team_.cold_seconds(work);
  state.far_bytes += real(work.weights_bytes) * std::max(0.0, steps - threads);
  take_whole(state, work.read_bytes + (state.whole ? 2 * written : 0));
  if (state.whole) price_ += kMemoryPrice * real(written) * beyond(written / threads);
}

void SegmentEstimate::take_whole(State& state, std::int64_t bytes) {
  state.whole_bytes = bytes;
  state.whole_seconds = state.recomputed * real(bytes) * beyond(bytes / team_.threads);
}

/// Rows of the node that a step of its consumers reads.
std::int64_t SegmentEstimate::rows_read(const State& state, NodeIndex node) {
  std::int64_t rows = 0;
  for_inner(node, [&](const Inner& inner) {
    const RowMap& map = context_.map(inner.reader);
    const State& consumer = inner.state;
    if (consumer.after > 0 && consumer.before < std::ssize(map.begin.items))
      rows += std::max<std::int64_t>(0, map.end[consumer.after - 1] - map.begin[consumer.before]);
  });
  return std::min(rows, state.after);
}

/// Rows of a ring are written anew at each step, and those above a window read again.
void SegmentEstimate::take_ring(State& state, NodeIndex node, std::int64_t step_rows, double written) {
  const std::int64_t live = live_rows(state, node);
  const std::int64_t touched = step_rows + rows_read(state, node);
  const std::int64_t kept = std::min(step_rows, std::max<std::int64_t>(0, live - step_rows));
  const auto bytes = live > touched ? &State::late_bytes : &State::far_bytes;
  state.*bytes += 2 * state.recomputed * written;
  state_at(context_.order.last_use[node]).*bytes += state.recomputed * written * real(kept) / real(step_rows);
  if (context_.hosted(node)) return;
  const std::int64_t row_bytes = context_.rows[node].row_bytes;
  ring_bytes_ += live * row_bytes / strips_;
  resident_bytes_ += live * row_bytes / strips_;
  touched_bytes_ += std::min(live, touched) * row_bytes / strips_;
}

/// The consumers in the segment read the node from its ring (or, where it is kept, from what was just written).
void SegmentEstimate::feed_consumers(NodeIndex node) {
  for_inner(node, [&](const Inner& inner) {
    State& state = inner.state;
    take_whole(state, state.whole_bytes - inner.reader.bytes);
    const double saved = state.recomputed * real(inner.reader.bytes) * team_.reach.seconds_saved_near(state.step_bytes);
    if (saved > kLeastSaved * state.seconds) state.saved_seconds += std::min(saved, kMostSaved * state.seconds);
  });
  const GroupIndex index = context_.chunks.group_of[node];
  if (index == kNoGroup) return;
  const ChunkGroup& group = context_.chunks.groups[index];
  if (group.nodes.front() != node || context_.order.position[group.nodes.back()] >= end_) return;
  for (const NodeIndex member : group.nodes) {
    State& state = state_at(context_.order.position[member]);
    state.near_seconds = state.chunk_seconds;
    visits_ += state.visits * real(group.count() - 1);
  }
}

NodePrice SegmentEstimate::price_of(const State& state, double far, double late) {
  return {state.seconds, state.whole_seconds + far * state.far_bytes + late * state.late_bytes,
          kExposedNear * state.near_seconds, state.visits};
}

NodePrice SegmentEstimate::price(std::size_t position) const {
  return price_of(state_at(position), beyond(touched_bytes_), beyond(resident_bytes_));
}

double SegmentEstimate::memory_seconds() const {
  const double far = beyond(touched_bytes_), late = beyond(resident_bytes_);
  double seconds = 0;
  for (std::size_t at = begin_; at < end_; ++at) {
    const NodePrice node = price_of(state_at(at), far, late);
    seconds += exposed(node.streamed, node.seconds) + node.met;
  }
  return seconds;
}

double SegmentEstimate::near_saving_us(int threads) const {
  double seconds = 0;
  for (std::size_t at = begin_; at < end_; ++at) seconds += state_at(at).saved_seconds;
  return kMicro * seconds / context_.shares.width(threads);
}

double SegmentEstimate::memory_price_us(int threads) const {
  return kMicro * (price_ / threads + kMemoryPrice * real(ring_bytes_) * beyond(ring_bytes_));
}

bool SegmentEstimate::has_bands(int threads) const {
  // Equal work a band moves the sinks down by what lies above them in the mean.
  const double down = work_ > 0 ? work_above_ / work_ : 0;
  return sink_units() > 1 && std::max(down, skew_ - down) * threads < kMostSkew;
}

/// What bands of its last node are made of.
std::int64_t SegmentEstimate::sink_units() const { return ceil_div(sink_rows_, context_.rows[last()].granularity); }

bool SegmentEstimate::shares_rounds(int threads) const {
  constexpr std::int64_t kManyImages = 4;  // a thread: the last ones matter little
  if (threads < 2 || images_ * strips_ < threads) return false;
  const bool few_rows = sink_units() < threads;
  if (images_ < threads) return few_rows && apart_;
  return images_ % threads == 0 || images_ >= kManyImages * threads || few_rows || !has_bands(threads);
}

bool SegmentEstimate::splits(int threads) const { return shares_rounds(threads) || has_bands(threads); }

double SegmentEstimate::arithmetic_us(int threads) const {
  const std::int64_t rounds = images_ * strips_;
  if (shares_rounds(threads))
    return kMicro * compute_ * real(ceil_div(rounds, threads)) / real(rounds) * context_.shares.slowest(threads);
  return kMicro * (threads > 1 ? unbalanced_ : compute_) / context_.shares.width(threads);
}

double SegmentEstimate::microseconds(int threads, double memory) const {
  const double rounds = real(shares_rounds(threads) ? 1 : images_ * strips_);
  const double sharing = threads > 1 ? rounds * team_.barrier_us : 0;
  return arithmetic_us(threads) +
         (kMicro * memory + visits_ * context_.topology.rates.step_us) / context_.shares.width(threads) +
         kMicro * cold_ + sharing;
}

}  // namespace colonnade
