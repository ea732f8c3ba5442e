// SPDX-License-Identifier: Apache-2.0
#include "plan/candidates.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/numbers.hpp"
#include "plan/local.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kSteps[] = {1, 2, 4, 8, 16, 32, 0};  // rows; 0: all
constexpr std::int64_t kStrips[] = {1, 2, 4, 8};
// What strips must gain: the columns computed twice are counted, the shorter rows of every kernel are not.
constexpr double kStripGain = 1.1;
// A candidate this much slower than its layers is not extended.
constexpr double kHopeless = 1.3;
constexpr double kHopelessUs = 20;

SegmentCandidate candidate_of(const SegmentEstimate& estimate, std::int64_t step, std::int64_t strips, int threads) {
  const double memory = estimate.memory_seconds();
  SegmentCandidate candidate{estimate.microseconds(1, memory), estimate.arithmetic_us(1),
                             step > 0 ? step : estimate.sink_rows(), strips};
  const double together =
      threads > 1 && estimate.splits(threads) ? estimate.microseconds(threads, memory) : candidate.us;
  if (together < candidate.us) {
    candidate.us = together;
    candidate.arithmetic_us = estimate.arithmetic_us(threads);
    candidate.threads = threads;
    candidate.rounds = estimate.shares_rounds(threads);
  }
  candidate.memory_price_us = estimate.memory_price_us(candidate.threads);
  return candidate;
}

/// A layer whose rows are cut into bands, and each band's channels into shares.
SegmentCandidate divided(const PlanContext& context, const Team& team, const ChunkGroup& shares, std::int64_t bands) {
  const NodeIndex node = shares.nodes.front();
  const RowNode& rows = context.rows[node];
  const NodeWork& work = context.work[node];
  const std::int64_t units = ceil_div(rows.rows, rows.granularity);
  const double share = real(shares.chunk_channels) / real(shares.channels);
  const double band = real(ceil_div(units, bands)) / real(units);
  const std::int64_t written = rows.row_bytes * rows.rows;
  const double compute = share * (work.seconds * band * context.chunk_rules[node].apart + work.visit_seconds) *
                         context.shares.slowest(team.threads);
  const double read = context.chunk_rules[node].carries ? share : 1;  // of all channels
  const double bytes = band * (read * real(work.read_bytes) + share * 2 * real(written));
  // its rows come from all threads, and its channels go to threads that take rows
  const double others = band * (1 - share) * (read * real(work.read_bytes) + share * real(written));
  const Rates& rates = context.topology.rates;
  SegmentCandidate candidate;
  candidate.us = team.barrier_us + rates.step_us +
                 kMicro * (compute + share * team.cold_seconds(work) + others * team.reach.seconds_from_others() +
                           bytes * team.reach.seconds_beyond_l2(work.read_bytes + written));
  candidate.arithmetic_us = kMicro * compute;
  candidate.rows_per_step = rows.rows;
  candidate.threads = team.threads;
  candidate.channels = true;
  candidate.bands = bands;
  return candidate;
}

}  // namespace

SegmentCandidate by_channels(const PlanContext& context, const Team& team, NodeIndex node) {
  const RowNode& rows = context.rows[node];
  SegmentCandidate best;
  if (rows.images >= team.threads) return best;
  const std::int64_t units = ceil_div(rows.rows, rows.granularity);
  for (std::int64_t bands = 1; bands <= std::min<std::int64_t>(units, team.threads / 2); ++bands) {
    const auto shares = channel_shares(context, node, team.threads / static_cast<int>(bands));
    if (!shares) break;
    const SegmentCandidate candidate = divided(context, team, *shares, bands);
    if (candidate.us < best.us) best = candidate;
  }
  return best;
}

SegmentCandidate whole_node(const PlanContext& context, const Team& team, NodeIndex node) {
  const Scope scope = context.choices[node].family->scope;
  SegmentCandidate candidate{0};
  if (scope == Scope::view) return candidate;
  const std::int64_t parts =
      scope == Scope::island ? 1 : std::clamp<std::int64_t>(context.rows[node].rows, 1, team.threads);
  const double alone = kMicro * context.work[node].seconds;
  const double width = context.shares.width(static_cast<int>(parts));
  const double saved = alone - alone / width - team.barrier_us * real(context.rows[node].turns);
  if (saved > 0) candidate.threads = static_cast<int>(parts);
  candidate.arithmetic_us = candidate.threads > 1 ? alone / width : alone;
  candidate.us = context.topology.rates.step_us + alone - std::max(0.0, saved);
  return candidate;
}

Growth::Growth(const PlanContext& context, const Team& team, const Wish& wish) : team_(team), wish_(wish) {
  for (const std::int64_t strips : kStrips) {
    if (strips > 1 && strips < wish.min_strips) continue;
    for (const std::int64_t step : kSteps)
      if (!wish.small_steps || step == 1)
        runs_.push_back({strips, step, SegmentEstimate(context, team, strips), true, {}});
  }
}

void Growth::start(std::size_t end) {
  end_ = end;
  length_ = 0;
  layers_us_ = 0;
  for (Run& run : runs_) {
    run.estimate.start(end, run.step);
    run.alive = true;
  }
}

/// Not with as many rows a step as another candidate, nor with rings as large as the tensors.
bool Growth::is_of_use(const Run& run, std::int64_t rows) const {
  if (run.step > 1 && run.step >= rows) return false;
  return length_ == 1 || run.step == 1 || (run.step != 0 && 2 * run.step <= rows);
}

/// Takes in the nodes that others have and this one has not, as it was of no use then.
bool Growth::catch_up(Run& run) const {
  const std::size_t begin = end_ - length_;
  while (run.estimate.begin() > begin)
    if (!run.estimate.add()) return false;
  return true;
}

SegmentCandidate Growth::add(double alone_us) {
  ++length_;
  layers_us_ += alone_us;
  SegmentCandidate best, best_in_strips;
  std::int64_t rows = 0;  // of the largest sink: the same for all runs
  for (Run& run : runs_) {
    run.candidate = {};
    if (run.step == 0 && length_ > 1) run.alive = false;  // all rows a step are of use to one node alone
    if (!run.alive || (rows > 0 && !is_of_use(run, rows))) continue;
    if (length_ == 1 && run.strips > 1 && team_.threads == 1) continue;
    run.alive = catch_up(run);
    if (!run.alive) continue;
    rows = run.estimate.sink_rows();
    if (!is_of_use(run, rows)) continue;
    if (length_ == 1 && run.strips > 1 && !run.estimate.shares_rounds(team_.threads)) continue;
    const SegmentCandidate candidate = run.candidate = candidate_of(run.estimate, run.step, run.strips, team_.threads);
    if (wish_.schedule == Schedule::automatic && candidate.us > kHopeless * layers_us_ + kHopelessUs && length_ > 1)
      run.alive = false;
    SegmentCandidate& slot = run.strips >= wish_.min_strips && run.strips > 1 ? best_in_strips : best;
    if (candidate.cost() < slot.cost()) slot = candidate;
  }
  const bool strips_first = wish_.min_strips > 1 && best_in_strips.us < std::numeric_limits<double>::infinity();
  return with_near_steps(strips_first || kStripGain * best_in_strips.us < best.us ? best_in_strips : best);
}

/// The same segment with the steps that are best where L1 counts as well. Where segments end is decided without it:
/// what it saves is an estimate of little, and a cut is not undone.
SegmentCandidate Growth::with_near_steps(SegmentCandidate best) const {
  if (length_ == 1 || best.us == std::numeric_limits<double>::infinity()) return best;
  double least = std::numeric_limits<double>::infinity();
  std::int64_t rows = best.rows_per_step;
  for (const Run& run : runs_) {
    const SegmentCandidate& candidate = run.candidate;
    if (candidate.us == std::numeric_limits<double>::infinity() || candidate.strips != best.strips ||
        candidate.threads != best.threads || candidate.rounds != best.rounds)
      continue;
    const double net = candidate.cost() - run.estimate.near_saving_us(candidate.threads);
    if (net < least) least = net, rows = candidate.rows_per_step;
  }
  best.rows_per_step = rows;
  return best;
}

bool Growth::alive() const {
  return std::any_of(runs_.begin(), runs_.end(), [](const Run& run) { return run.alive; });
}

}  // namespace colonnade
