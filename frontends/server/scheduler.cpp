// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/scheduler.hpp"

#include <algorithm>

#include "colonnade/numa.hpp"

namespace colonnade::serve {
namespace {

/// Brief runs of others that a thread does after its own; then it has its own work to do.
constexpr int kMostBriefRuns = 8;

}  // namespace

/// Holds the lock. Whoever lets it go wakes whom the changes call for: workers, the clock, those who wait for an end.
class Scheduler::Section {
 public:
  explicit Section(Scheduler& scheduler) : scheduler_(scheduler), lock_(scheduler.mutex_) {}
  ~Section() {
    if (lock_.owns_lock()) leave();
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  void leave() {
    Worker* const last = wake();
    lock_.unlock();
    if (last != nullptr) last->wake.notify_one();
  }
  void enter() { lock_.lock(); }
  template <class... Wait>
  bool wait(std::condition_variable& until, Clock::time_point limit, const Wait&... is_over) {
    if (Worker* const last = wake()) last->wake.notify_one();
    if (limit != Clock::time_point::max()) return as_bool(until.wait_until(lock_, limit, is_over...));
    until.wait(lock_, is_over...);
    return true;
  }

 private:
  static bool as_bool(bool is_over) { return is_over; }
  static bool as_bool(std::cv_status status) { return status == std::cv_status::no_timeout; }

  /// All but a last worker, which need not find the lock taken.
  Worker* wake() {
    Worker* last = nullptr;
    while (Worker* const worker = scheduler_.called_worker()) {
      if (last != nullptr) last->wake.notify_one();
      last = worker;
    }
    if (scheduler_.turns_.has_settled()) scheduler_.settled_.notify_all();
    if (scheduler_.turns_.alarm() < scheduler_.clock_sleeps_until_) {
      scheduler_.clock_sleeps_until_ = Clock::time_point::min();
      scheduler_.clock_wake_.notify_one();
    }
    return last;
  }

  Scheduler& scheduler_;
  std::unique_lock<std::mutex> lock_;
};

Scheduler::Scheduler(int streams, std::size_t most_pending, const std::string& numa)
    : streams_(std::max(1, streams)), turns_(streams_, most_pending) {
  for (int i = 0; i < streams_ + 1; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    Worker& worker = *workers_.back();
    worker.thread = std::thread([this, &worker, numa, i] {
      stay_on_node(numa, i);
      work(worker);
    });
  }
  clock_ = std::thread([this] { watch_clock(); });
}

Scheduler::~Scheduler() {
  {
    const Section section(*this);
    stopping_ = true;
    for (Worker* worker : idle_) worker->called = true;
    idle_.clear();
  }
  for (const auto& worker : workers_) worker->wake.notify_one();
  clock_wake_.notify_one();
  for (const auto& worker : workers_) worker->thread.join();
  clock_.join();
}

Scheduler::Worker* Scheduler::called_worker() {
  if (idle_.empty() || !turns_.called()) return nullptr;
  Worker* const worker = idle_.back();
  idle_.pop_back();
  worker->called = true;
  return worker;
}

std::optional<Status> Scheduler::push(Line& line, JobPtr& job) {
  const Clock::time_point now = job->queued = Clock::now();
  Turns::Pushed pushed;
  {
    const Section section(*this);
    pushed = turns_.push(line, job, now);
  }
  refuse(pushed.gone, [&](const Job& gone) { return reason_of(gone, now); });
  if (pushed.brief) run_what_is_brief(now);
  return pushed.refused;
}

void Scheduler::run_what_is_brief(Clock::time_point now) {
  Section section(*this);
  for (int i = 0; i < kMostBriefRuns; ++i) {
    std::optional<Turns::Turn> turn = turns_.next_brief(now);
    if (!turn) break;
    serve(std::move(*turn), now, section);
    now = Clock::now();
  }
  turns_.call_if_ready(now);
}

void Scheduler::work(Worker& self) {
  Section section(*this);
  while (true) {
    const Clock::time_point now = Clock::now();
    if (std::optional<Turns::Turn> turn = turns_.next(now)) {
      serve(std::move(*turn), now, section);
      continue;
    }
    if (stopping_) return;
    turns_.rest();
    self.called = false;
    idle_.push_back(&self);
    section.wait(self.wake, Clock::time_point::max(), [&] { return self.called; });
  }
}

void Scheduler::serve(Turns::Turn turn, Clock::time_point now, Section& section) {
  section.leave();
  for (JobPtr& job : turn.gone) {
    const Status why = reason_of(*job, now);
    turn.line->runner().refuse(std::move(job), why);
  }
  if (!turn.batch.empty()) turn.line->runner().run(std::move(turn.batch), turn.parts, cancel_.get_token());
  const std::chrono::nanoseconds took = Clock::now() - now;
  section.enter();
  turns_.finish(turn, took);
}

void Scheduler::watch_clock() {
  Section section(*this);
  while (!stopping_) {
    const Clock::time_point now = Clock::now();
    if (turns_.alarm() > now) {
      section.wait(clock_wake_, clock_sleeps_until_ = turns_.alarm());
      clock_sleeps_until_ = Clock::time_point::min();
      continue;
    }
    Turns::Gone gone = turns_.look(now);
    section.leave();
    refuse(gone, [&](const Job& job) { return reason_of(job, now); });
    section.enter();
  }
}

template <class Why>
void Scheduler::refuse(Turns::Gone& gone, const Why& why) {
  if (gone.empty()) return;
  for (auto& [line, jobs] : gone)
    for (JobPtr& job : jobs) {
      const Status status = why(*job);
      line->runner().refuse(std::move(job), status);
    }
  const Section section(*this);
  for (auto& [line, jobs] : gone) turns_.release(*line);
}

void Scheduler::close(Line& line) {
  Section section(*this);
  turns_.close(line);
  section.wait(settled_, Clock::time_point::max(), [&] { return turns_.is_settled(line); });
}

bool Scheduler::drain(Clock::time_point limit) {
  Section section(*this);
  turns_.close_all();
  return section.wait(settled_, limit, [&] { return turns_.is_settled(); });
}

void Scheduler::cancel_all(const Status& why) {
  Turns::Gone gone;
  {
    const Section section(*this);
    gone = turns_.take_all(Clock::now());
  }
  cancel_.request_stop();
  refuse(gone, [&](const Job&) { return why; });
}

std::size_t Scheduler::waiting(const Line& line) const {
  const std::lock_guard lock(mutex_);
  return line.queue().size();
}

bool Scheduler::is_idle(const Line& line) const {
  const std::lock_guard lock(mutex_);
  return turns_.is_settled(line);
}

std::size_t Scheduler::pending() const {
  const std::lock_guard lock(mutex_);
  return turns_.pending();
}

}  // namespace colonnade::serve
