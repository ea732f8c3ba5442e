// SPDX-License-Identifier: Apache-2.0
#include "api/duel.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace colonnade {
namespace {

constexpr std::size_t kTimedRuns = 5;  // of each side
constexpr int kRunsBefore = 3;
constexpr double kTimesThePlan = 10;  // runs must have taken so much longer than a plan takes to make

double median(std::vector<double> times) {
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

Side Scores::next() const { return times_[1].size() < times_[0].size() ? Side::runner_up : Side::predicted; }

void Scores::add(Side side, double ms) { times_[index_of(side)].push_back(ms); }

std::optional<Verdict> Scores::verdict() const {
  if (std::min(times_[0].size(), times_[1].size()) < kTimedRuns) return std::nullopt;
  const double predicted = median(times_[0]), runner_up = median(times_[1]);
  return Verdict{runner_up < predicted ? Side::runner_up : Side::predicted,
                 1 - std::min(predicted, runner_up) / std::max({predicted, runner_up, 1e-9}),
                 static_cast<int>(times_[0].size() + times_[1].size())};
}

bool Duel::ripens(double ms) {
  const std::lock_guard lock(mutex_);
  ++runs_;
  run_ms_ += ms;
  if (state() != State::waiting || runs_ < kRunsBefore || run_ms_ < kTimesThePlan * plan_ms_) return false;
  state_.store(State::opening, std::memory_order_release);
  return true;
}

void Duel::open(std::shared_ptr<const Prepared> runner_up) {
  const std::lock_guard lock(mutex_);
  runner_up_ = std::move(runner_up);
  state_.store(runner_up_ ? State::open : State::kept, std::memory_order_release);
}

void Duel::give_up() {
  std::shared_ptr<const Prepared> loser;
  const std::lock_guard lock(mutex_);
  if (state() != State::open) return;
  loser = std::move(runner_up_);
  state_.store(State::kept, std::memory_order_release);
}

Side Duel::next() const {
  const std::lock_guard lock(mutex_);
  return scores_.next();
}

bool Duel::record(Side side, double ms) {
  const std::lock_guard lock(mutex_);
  if (state() != State::open) return false;
  scores_.add(side, ms);
  verdict_ = scores_.verdict();
  if (!verdict_) return false;
  state_.store(verdict_->winner == Side::predicted ? State::kept : State::lost, std::memory_order_release);
  return true;
}

std::shared_ptr<const Prepared> Duel::runner_up() const {
  const std::lock_guard lock(mutex_);
  return runner_up_;
}

void Duel::drop_runner_up() {
  std::shared_ptr<const Prepared> loser;  // goes when the lock is gone
  const std::lock_guard lock(mutex_);
  loser = std::move(runner_up_);
}

std::optional<Verdict> Duel::verdict() const {
  const std::lock_guard lock(mutex_);
  return verdict_;
}

}  // namespace colonnade
