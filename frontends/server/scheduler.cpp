// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/scheduler.hpp"

#include <algorithm>
#include <bit>

namespace colonnade::serve {
namespace {

/// Requests that wait too long are told so within this time; batches that are ripe start at once.
constexpr std::chrono::milliseconds kClockStep{1};
/// How fast the expected time of a run follows the measured ones.
constexpr int kMemory = 8;
/// A run that takes less is not worth waking a thread for: that takes as long on some machines.
constexpr double kBriefNs = 100'000;
/// Brief runs of others that a thread does after its own; then it has its own work to do.
constexpr int kMostBriefRuns = 8;

void refuse_all(Runner& runner, std::vector<JobPtr>& gone, Clock::time_point now) {
  for (JobPtr& job : gone) {
    const Status why = reason_of(*job, now);
    runner.refuse(std::move(job), why);
  }
  gone.clear();
}

}  // namespace

Scheduler::Scheduler(int streams, std::size_t most_pending)
    : streams_(std::max(1, streams)), most_pending_(most_pending) {
  for (int i = 0; i < streams_ + 1; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    Worker& worker = *workers_.back();
    worker.thread = std::thread([this, &worker] { work(worker); });
  }
  clock_ = std::thread([this] { watch_clock(); });
}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    while (call_worker() != nullptr) {
    }
  }
  for (const auto& worker : workers_) worker->wake.notify_one();
  clock_wake_.notify_one();
  for (const auto& worker : workers_) worker->thread.join();
  clock_.join();
}

std::optional<Status> Scheduler::push(Line& line, JobPtr& job) {
  std::vector<JobPtr> gone;
  std::optional<Status> refused;
  Worker* worker = nullptr;
  bool clock = false, here = false;
  const Clock::time_point now = job->queued = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    Job& pushed = *job;
    refused = push_locked(line, job, gone);
    if (!refused) {
      const bool can_start = may_run(line, now);
      here = can_start && is_brief(line);
      if (can_start && !here) worker = call_worker();
      const Clock::time_point ends = std::min(pushed.expires, pushed.deadline);
      clock = set_clock(can_start ? ends : std::min(ends, line.queue_.ripens(now)));
    }
  }
  if (worker != nullptr) worker->wake.notify_one();
  if (clock) clock_wake_.notify_one();
  refuse_all(line.runner_, gone, now);
  if (here) run_what_is_brief(now);
  return refused;
}

bool Scheduler::is_brief(const Line& line) {
  return line.ns_a_byte_ > 0 && line.ns_a_byte_ * static_cast<double>(line.queue_.next_bytes()) < kBriefNs;
}

void Scheduler::run_what_is_brief(Clock::time_point now) {
  std::unique_lock lock(mutex_);
  Line* line = choose(now);
  for (int i = 0; line != nullptr && is_brief(*line) && i < kMostBriefRuns; ++i) {
    serve(*line, now, Help::none, lock);
    now = Clock::now();
    line = choose(now);
  }
  Worker* worker = line == nullptr ? nullptr : call_worker();
  lock.unlock();
  if (worker != nullptr) worker->wake.notify_one();
}

std::optional<Status> Scheduler::push_locked(Line& line, JobPtr& job, std::vector<JobPtr>& gone) {
  if (draining_) return Status{Code::unavailable, "the server is shutting down"};
  if (line.closed_) return Status{Code::unavailable, "the model is being unloaded"};
  if (most_pending_ > 0 && pending_ >= most_pending_)
    return Status{Code::resource_exhausted, "Exceeds maximum queue size: too many requests are waiting for all models"};
  const std::size_t before = line.queue_.size();
  std::optional<Status> refused = line.queue_.push(job, gone);
  settle(line, before);
  return refused;
}

void Scheduler::settle(Line& line, std::size_t before) {
  const std::size_t after = line.queue_.size();
  pending_ = pending_ + after - before;
  if ((after > 0) != line.listed_) {
    line.listed_ = after > 0;
    if (line.listed_) {
      // Who was away has saved no time up.
      if (line.running_ == 0) line.used_ = std::max(line.used_, used_now_);
      waiting_.push_back(&line);
    } else {
      std::erase(waiting_, &line);
    }
  }
  if (after == 0 && line.running_ == 0 && line.held_ == 0 && (line.closed_ || draining_)) settled_.notify_all();
}

int Scheduler::parts_now() const {
  std::size_t runs = static_cast<std::size_t>(running_);
  for (const Line* line : waiting_) {
    const int idle = line->queue_.policy().instances - line->running_;
    runs += std::min(line->queue_.runs(), static_cast<std::size_t>(std::max(0, idle)));
  }
  return static_cast<int>(std::bit_ceil(std::min(runs, static_cast<std::size_t>(streams_))));
}

bool Scheduler::may_run(const Line& line, Clock::time_point now) const {
  const bool has_room = running_ < streams_ ? line.running_ < line.queue_.policy().instances : line.running_ == 0;
  return has_room && line.queue_.is_ready(now);
}

Scheduler::Line* Scheduler::choose(Clock::time_point now) const {
  Line* chosen = nullptr;
  for (Line* line : waiting_)
    if ((chosen == nullptr || line->used_ < chosen->used_) && may_run(*line, now)) chosen = line;
  return chosen;
}

Scheduler::Worker* Scheduler::call_worker() {
  if (idle_.empty()) return nullptr;
  Worker* worker = idle_.back();
  idle_.pop_back();
  worker->called = true;
  return worker;
}

bool Scheduler::set_clock(Clock::time_point event) {
  if (event >= clock_at_) return false;
  clock_at_ = event;
  return true;
}

void Scheduler::work(Worker& self) {
  std::unique_lock lock(mutex_);
  while (true) {
    const Clock::time_point now = Clock::now();
    if (Line* line = choose(now)) {
      serve(*line, now, Help::wanted, lock);
      continue;
    }
    if (stopping_) return;
    self.called = false;
    idle_.push_back(&self);
    self.wake.wait(lock, [&] { return self.called; });
  }
}

void Scheduler::serve(Line& line, Clock::time_point now, Help help, std::unique_lock<std::mutex>& lock) {
  const std::size_t before = line.queue_.size();
  const auto more_runs = static_cast<std::size_t>(line.queue_.policy().instances - line.running_ - 1);
  std::vector<JobPtr> gone;
  std::vector<JobPtr> batch = line.queue_.take(now, 1 + std::min(idle_.size(), more_runs), gone);
  const std::chrono::nanoseconds charged = line.expected_;
  ++line.running_;
  ++running_;
  used_now_ = std::max(used_now_, line.used_);
  line.used_ += charged;
  settle(line, before);
  const int parts = parts_now();
  Worker* helper = help == Help::none || idle_.empty() || choose(now) == nullptr ? nullptr : call_worker();
  lock.unlock();

  if (helper != nullptr) helper->wake.notify_one();
  refuse_all(line.runner_, gone, now);
  const bool ran = !batch.empty();
  std::int64_t samples = 0;
  std::size_t bytes = 0;
  for (const JobPtr& job : batch) {
    samples += job->samples;
    bytes += bytes_of(*job);
  }
  if (ran) line.runner_.run(std::move(batch), parts, cancel_.get_token());
  const std::chrono::nanoseconds took = Clock::now() - now, cost = took / parts;

  lock.lock();
  line.used_ += (ran ? cost : std::chrono::nanoseconds(0)) - charged;
  if (ran) {
    line.queue_.learn(samples, cost);
    line.expected_ = line.expected_.count() == 0 ? cost : line.expected_ + (cost - line.expected_) / kMemory;
    const double now_a_byte = static_cast<double>(took.count()) / static_cast<double>(bytes);
    // One run that was interrupted says little: a step is at most a part of what was known.
    const double step = line.ns_a_byte_ / kMemory;
    line.ns_a_byte_ += line.ns_a_byte_ == 0 ? now_a_byte : std::clamp(now_a_byte - line.ns_a_byte_, -step, step);
  }
  --line.running_;
  --running_;
  settle(line, line.queue_.size());
}

void Scheduler::watch_clock() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (clock_at_ == Clock::time_point::max()) {
      clock_wake_.wait(lock);
    } else if (clock_at_ > Clock::now()) {
      clock_wake_.wait_until(lock, clock_at_);
    } else {
      look_around(lock);
    }
  }
}

void Scheduler::look_around(std::unique_lock<std::mutex>& lock) {
  const Clock::time_point now = Clock::now();
  Refused refused;
  std::vector<JobPtr> gone;
  Clock::time_point next = Clock::time_point::max();
  for (Line* line : std::vector<Line*>(waiting_)) {
    const std::size_t before = line->queue_.size();
    line->queue_.expire(now, gone);
    next = std::min({next, line->queue_.ripens(now), std::max(line->queue_.ends(), now + kClockStep)});
    if (!gone.empty()) {
      hold(*line, 1);
      refused.emplace_back(line, std::move(gone));
      gone.clear();
    }
    settle(*line, before);
  }
  clock_at_ = next;
  Worker* worker = choose(now) == nullptr ? nullptr : call_worker();
  lock.unlock();
  if (worker != nullptr) worker->wake.notify_one();
  for (auto& [line, jobs] : refused) refuse_all(line->runner_, jobs, now);
  lock.lock();
  for (auto& [line, jobs] : refused) {
    hold(*line, -1);
  }
}

void Scheduler::close(Line& line) {
  std::unique_lock lock(mutex_);
  line.closed_ = true;
  settled_.wait(lock, [&] { return line.queue_.size() == 0 && line.running_ == 0 && line.held_ == 0; });
}

bool Scheduler::drain(Clock::time_point limit) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  return settled_.wait_until(lock, limit, [&] { return pending_ == 0 && running_ == 0 && held_ == 0; });
}

void Scheduler::hold(Line& line, int change) {
  line.held_ += change;
  held_ += change;
  settle(line, line.queue_.size());
}

void Scheduler::cancel_all(const Status& why) {
  Refused refused;
  {
    const std::lock_guard lock(mutex_);
    for (Line* line : std::vector<Line*>(waiting_)) {
      const std::size_t before = line->queue_.size();
      hold(*line, 1);
      refused.emplace_back(line, std::vector<JobPtr>());
      line->queue_.take_all(refused.back().second);
      settle(*line, before);
    }
  }
  cancel_.request_stop();
  for (auto& [line, jobs] : refused)
    for (JobPtr& job : jobs) line->runner_.refuse(std::move(job), why);
  const std::lock_guard lock(mutex_);
  for (auto& [line, jobs] : refused) {
    hold(*line, -1);
  }
}

std::size_t Scheduler::waiting(const Line& line) const {
  const std::lock_guard lock(mutex_);
  return line.queue_.size();
}

}  // namespace colonnade::serve
