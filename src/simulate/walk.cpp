// SPDX-License-Identifier: Apache-2.0
#include "simulate/walk.hpp"

#include <algorithm>
#include <limits>

namespace colonnade::simulation {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kRoundsOfSharing = 8;      // until what is taken is what there is
constexpr double kOverCapacity = 1.001;  // good enough

}  // namespace

Times& Times::operator+=(const Times& more) {
  arithmetic += more.arithmetic, memory += more.memory, calls += more.calls, rows += more.rows;
  imbalance += more.imbalance, idle += more.idle, barriers += more.barriers;
  return *this;
}

Walk::Walk(const SegmentDemands& demands, const Speeds& speeds, const std::vector<int>& domains, StepTold told)
    : demands_(demands),
      speeds_(speeds),
      domains_(domains),
      told_(std::move(told)),
      stretches_(domains.empty() ? 1
                                 : static_cast<std::size_t>(*std::max_element(domains.begin(), domains.end())) + 1) {}

void Walk::walk(const std::vector<Way>& ways, std::vector<double>& clocks, Times& times) {
  const auto clock_of = [&](const Lane& lane) -> double& { return clocks[static_cast<std::size_t>(lane.way.thread)]; };
  lanes_.clear();
  progress_.clear();
  now_ = kNever;
  for (const Way& way : ways) {
    Lane& lane = lanes_.emplace_back();
    lane.way = way;
    lane.since = clock_of(lane);
    now_ = std::min(now_, lane.since);
  }
  for (double next = next_event(); next < kNever; next = next_event()) {
    settle(next);
    for (Lane& lane : lanes_)
      if (lane.state == Lane::State::running && lane.end <= next) finish(lane, next, times);
    for (Lane& lane : lanes_)
      if (lane.state == Lane::State::coming && lane.since <= next) go_on(lane, next, clock_of(lane));
    share_memory(next);
  }
  for (const Lane& lane : lanes_)
    if (lane.state != Lane::State::gone) fail(ErrorCode::internal, "list {} waits for ever", lane.way.thread);
}

double Walk::next_event() const {
  double next = kNever;
  for (const Lane& lane : lanes_) {
    if (lane.state == Lane::State::running) next = std::min(next, lane.end);
    if (lane.state == Lane::State::coming) next = std::min(next, std::max(now_, lane.since));
  }
  return next;
}

void Walk::settle(double to) {
  for (Lane& lane : lanes_)
    if (lane.state == Lane::State::running && lane.seconds > 0) lane.left -= (to - now_) / lane.seconds;
  now_ = to;
}

/// Whether the thread runs the node, or this chunk of it, for the first time.
bool Walk::is_first(const Lane& lane) {
  std::vector<bool>& met = met_[lane.way.thread];
  const Step& step = lane.step();
  const std::size_t at =
      static_cast<std::size_t>(step.chunk + 1) * demands_.nodes() + static_cast<std::size_t>(demands_.local(step.node));
  if (at >= met.size()) met.resize(at + 1);
  const bool first = !met[at];
  met[at] = true;
  return first;
}

/// The next step that takes time, or that must be waited for.
void Walk::go_on(Lane& lane, double now, double& clock) {
  for (;; ++lane.at) {
    if (lane.at == lane.way.list->size()) {
      if (--lane.way.times <= 0) {
        lane.state = Lane::State::gone;
        clock = now;
        return;
      }
      lane.at = 0;
    }
    const Step& step = lane.step();
    if (step.kind == Step::Kind::run) break;
    if (progress(lane.way.thread + 1, step.node) >= step.row_end) continue;
    lane.state = Lane::State::waiting;
    lane.since = now;
    return;
  }
  lane.state = Lane::State::running;
  lane.since = now;
  lane.left = 1;
  lane.demand = demands_.of(lane.step(), is_first(lane));
  const double speed = speeds_.core_speeds[static_cast<std::size_t>(lane.way.thread)];
  lane.demand.call /= speed;
  lane.demand.arithmetic /= speed;
  lane.shared = shared_bytes(lane.demand, speeds_);
  lane.seconds = -1;  // not known yet
}

void Walk::finish(Lane& lane, double now, Times& times) {
  times.calls += lane.demand.call;
  times.arithmetic += lane.demand.arithmetic;
  times.memory += std::max(0.0, now - lane.since - lane.demand.call - lane.demand.arithmetic);
  if (told_) told_(lane.way.thread, lane.step(), lane.since, now);
  if (lane.step().publish) announce(lane, now, times);
  ++lane.at;
  lane.state = Lane::State::coming;
  lane.since = now;
}

/// The list above may wait for these rows: it sees them as soon as a line of the cache has moved.
void Walk::announce(const Lane& lane, double now, Times& times) {
  std::int32_t& rows = progress(lane.way.thread, lane.step().node);
  rows = std::max(rows, lane.step().row_end);
  for (Lane& above : lanes_) {
    if (above.state != Lane::State::waiting || above.way.thread + 1 != lane.way.thread) continue;
    if (above.step().node != lane.step().node || rows < above.step().row_end) continue;
    const double line = domain_of(above) == domain_of(lane) ? speeds_.near_line : speeds_.line;
    times.rows += now + line - above.since;
    above.state = Lane::State::coming;
    above.since = now + line;
    ++above.at;
  }
}

/// Steps that run slow down until together they take no more than caches and memory give.
void Walk::share_memory(double now) {
  std::fill(stretches_.begin(), stretches_.end(), Stretch());
  for (int round = 0; round < kRoundsOfSharing; ++round) {
    std::vector<double> from_l3(stretches_.size());
    double from_dram = 0;
    for (Lane& lane : lanes_) {
      if (lane.state != Lane::State::running) continue;
      const double seconds = seconds_of(lane.demand, speeds_, stretch_of(lane));
      if (seconds != lane.seconds) lane.end = now + lane.left * seconds;
      lane.seconds = seconds;
      if (seconds <= 0) continue;
      from_l3[static_cast<std::size_t>(domain_of(lane))] += lane.shared.l3 / seconds;
      from_dram += lane.shared.dram / seconds;
    }
    bool is_over = from_dram > kOverCapacity * speeds_.dram_capacity;
    for (std::size_t domain = 0; domain < stretches_.size(); ++domain) {
      is_over |= from_l3[domain] > kOverCapacity * speeds_.l3_capacity;
      stretches_[domain].l3 *= std::max(1.0, from_l3[domain] / speeds_.l3_capacity);
      stretches_[domain].dram *= std::max(1.0, from_dram / speeds_.dram_capacity);
    }
    if (!is_over) return;
  }
}

}  // namespace colonnade::simulation
