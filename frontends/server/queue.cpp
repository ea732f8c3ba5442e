// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace colonnade::serve {
namespace {

/// Requests may share a run when they differ in the number of samples only.
bool can_merge(const Job& a, const Job& b) {
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const Shape &left = a.inputs[i].shape, &right = b.inputs[i].shape;
    if (left.size() != right.size() || !std::equal(left.begin() + 1, left.end(), right.begin() + 1)) return false;
  }
  return true;
}

/// Every size of a batch needs a plan of its own, so only few sizes are used: preferred ones, and the first request's
/// times a power of two.
bool is_round(std::int64_t samples, std::int64_t first, const std::vector<std::int64_t>& preferred) {
  if (std::find(preferred.begin(), preferred.end(), samples) != preferred.end()) return true;
  return samples % first == 0 && std::has_single_bit(static_cast<std::uint64_t>(samples / first));
}

/// The first run of a size makes its plan, so it takes some to judge.
constexpr int kTrials = 4;
/// Waiting for neighbours must pay.
constexpr double kFaster = 0.9;

}  // namespace

bool is_pointless(const Job& job, Clock::time_point now) {
  return job.request.stop.stop_requested() || job.deadline <= now;
}

Status reason_of(const Job& job, Clock::time_point now) {
  if (job.request.stop.stop_requested()) return {Code::cancelled, "the client cancelled the request"};
  const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(now - job.queued).count();
  return {Code::deadline_exceeded, fmt::format("Request timeout expired: it waited {} us in the queue", waited)};
}

Queue::Queue(QueuePolicy policy) : policy_(std::move(policy)), levels_(policy_.levels.size() + 1) {}

std::optional<Status> Queue::push(JobPtr& job, std::vector<JobPtr>& gone) {
  const std::uint32_t asked = job->request.priority;
  const std::size_t index = (asked == 0 || asked > policy_.levels.size() ? policy_.default_level : asked) - 1;
  const LevelPolicy& rules = policy_.levels[index];
  Level& level = levels_[index];
  if (level.size() >= rules.most) sweep(job->queued, gone);
  if (level.size() >= rules.most)
    return Status{Code::resource_exhausted, fmt::format("Exceeds maximum queue size: {} requests of '{}' are waiting",
                                                        rules.most, job->request.model)};
  const auto own = job->request.timeout;
  const auto timeout = own.count() > 0 && rules.may_override ? own : rules.timeout;
  if (timeout.count() > 0) {
    job->expires = job->request.received + timeout;
    if (!rules.delay) job->deadline = std::min(job->deadline, job->expires);
  }
  job->ticket = tickets_++;
  ends_ = std::min(size_ == 0 ? Clock::time_point::max() : ends_, end_of(*job, index, job->queued));
  level.push_back(std::move(job));
  ++size_;
  return std::nullopt;
}

const Job* Queue::first() const { return size_ == 0 ? nullptr : levels_[first_level()].front().get(); }

std::size_t Queue::runs() const {
  // Only who was asked to wait for a batch merges what idle streams could run.
  const auto together = static_cast<std::size_t>(policy_.delay.count() == 0 ? 1 : policy_.largest_batch);
  return (size_ + together - 1) / together;
}

std::size_t Queue::first_level() const {
  const auto found = std::find_if(levels_.begin(), levels_.end(), [](const Level& level) { return !level.empty(); });
  return static_cast<std::size_t>(found - levels_.begin());
}

std::int64_t Queue::mergeable(const Level& level, std::int64_t most) const {
  std::int64_t samples = 0;
  for (const JobPtr& job : level) {
    if (samples >= most) break;
    if (can_merge(*level.front(), *job)) samples += job->samples;
  }
  return samples;
}

bool Queue::is_ready(Clock::time_point now) const {
  if (size_ == 0) return false;
  if (policy_.delay.count() == 0 || ripens() <= now) return true;
  const std::int64_t enough = policy_.preferred.empty() ? policy_.largest_batch : policy_.preferred.front();
  return mergeable(levels_[first_level()], enough) >= enough;
}

std::vector<JobPtr> Queue::take(Clock::time_point now, std::size_t runs, std::vector<JobPtr>& gone, const Fits& fits) {
  for (; is_ready(now); --size_) {
    Level& level = levels_[first_level()];
    const Job& first = *level.front();
    if (!is_pointless(first, now)) {
      if (fits && !fits(first, first.samples)) return {};
      return take_batch(level, now, static_cast<std::int64_t>(runs), fits);
    }
    gone.push_back(std::move(level.front()));
    level.pop_front();
  }
  return {};
}

std::vector<JobPtr> Queue::take_batch(Level& level, Clock::time_point now, std::int64_t runs, const Fits& fits) {
  std::int64_t most = most_samples();
  // While streams are idle and nobody asked to wait for a batch, work is spread and not merged.
  if (most > 1 && runs > 1 && policy_.delay.count() == 0)
    most = std::min(most, (mergeable(level, most * runs) + runs - 1) / runs);
  const Job& first = *level.front();
  std::vector<std::size_t> chosen = {0};
  std::size_t kept = 1;
  std::int64_t samples = first.samples;
  for (std::size_t i = 1; i < level.size() && samples < most; ++i) {
    const Job& job = *level[i];
    if (is_pointless(job, now) || !can_merge(first, job)) continue;
    samples += job.samples;
    if (samples > most) break;
    chosen.push_back(i);
    if (is_round(samples, first.samples, policy_.preferred) && (!fits || fits(first, samples))) kept = chosen.size();
  }
  chosen.resize(kept);
  std::vector<JobPtr> batch;
  batch.reserve(kept);
  for (const std::size_t i : chosen) batch.push_back(std::move(level[i]));
  if (chosen.back() + 1 == kept) {  // the first ones, as usual
    level.erase(level.begin(), level.begin() + static_cast<std::ptrdiff_t>(kept));
  } else {
    std::erase(level, nullptr);
  }
  size_ -= kept;
  return batch;
}

void Queue::learn(std::int64_t samples, std::chrono::nanoseconds took) {
  const auto size = static_cast<std::uint64_t>(samples);
  if (!policy_.merge_if_faster || !std::has_single_bit(size) || samples > policy_.largest_batch) return;
  const auto index = static_cast<std::size_t>(std::countr_zero(size));
  if (measured_.size() <= index) measured_.resize(index + 1);
  Measured& measured = measured_[index];
  const double each = static_cast<double>(took.count()) / static_cast<double>(samples);
  measured.best = measured.runs == 0 ? each : std::min(measured.best, each);
  ++measured.runs;
}

std::int64_t Queue::worth_merging() const {
  std::int64_t most = 1;
  for (std::size_t i = 0; most * 2 <= policy_.largest_batch; ++i, most *= 2) {
    if (i >= measured_.size() || measured_[i].runs < kTrials) break;
    const bool is_known = i + 1 < measured_.size() && measured_[i + 1].runs >= kTrials;
    if (is_known && measured_[i + 1].best > kFaster * measured_[i].best) break;
    if (!is_known) return most * 2;  // a trial
  }
  return most;
}

void Queue::sweep(Clock::time_point now, std::vector<JobPtr>& gone) {
  for (Level& level : levels_) {
    for (JobPtr& job : level)
      if (is_pointless(*job, now)) gone.push_back(std::move(job));
    size_ -= std::erase(level, nullptr);
  }
}

void Queue::expire(Clock::time_point now, std::vector<JobPtr>& gone) {
  sweep(now, gone);
  for (std::size_t i = 0; i < policy_.levels.size(); ++i) {
    if (!policy_.levels[i].delay) continue;
    for (JobPtr& job : levels_[i])
      if (job->expires <= now) levels_.back().push_back(std::move(job));
    std::erase(levels_[i], nullptr);
  }
  ends_ = Clock::time_point::max();
  for (std::size_t i = 0; i < levels_.size(); ++i)
    for (const JobPtr& job : levels_[i]) ends_ = std::min(ends_, end_of(*job, i, now));
  ends_ = std::max(ends_, now + kExpireStep);
}

Clock::time_point Queue::alarm(Clock::time_point now) const {
  if (size_ == 0) return Clock::time_point::max();
  return is_ready(now) ? ends_ : std::min(ends_, ripens());
}

Clock::time_point Queue::ripens() const {
  Clock::time_point first = Clock::time_point::max();
  for (const Level& level : levels_)
    if (!level.empty()) first = std::min(first, level.front()->queued + policy_.delay);
  return first;
}

Clock::time_point Queue::end_of(const Job& job, std::size_t level, Clock::time_point now) const {
  Clock::time_point end = job.deadline;
  if (level < policy_.levels.size() && policy_.levels[level].delay) end = std::min(end, job.expires);
  return job.request.stop.stop_possible() ? std::min(end, now + kLeaversStep) : end;
}

void Queue::take_all(std::vector<JobPtr>& gone) {
  for (Level& level : levels_) {
    std::move(level.begin(), level.end(), std::back_inserter(gone));
    level.clear();
  }
  size_ = 0;
}

}  // namespace colonnade::serve
