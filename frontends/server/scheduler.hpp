// SPDX-License-Identifier: Apache-2.0
// Which waiting request runs when: the streams of the process, shared by all models.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "frontends/server/queue.hpp"

namespace colonnade::serve {

/// What the scheduler asks of a model. Both answer every job they are given, and neither throws.
class Runner {
 public:
  virtual ~Runner() = default;
  /// Runs the jobs together on one of `parts` equal parts of the machine. Called by several streams at the same time,
  /// at most QueuePolicy::instances.
  virtual void run(std::vector<JobPtr> jobs, int parts, const std::stop_token& stop) = 0;
  virtual void refuse(JobPtr job, const Status& why) = 0;
};

/// Streams take turns: each picks, among the models with work and an instance to spare, the one that used the least of
/// the machine so far, in time on all of it. So a model that floods the server gets what others leave. One stream more
/// than asked for is kept for models of which nothing runs: a short run need not wait for the end of long ones.
///
/// A run that is alone has the whole machine; beside others, or with requests that wait, it has a part, as runs on one
/// core each do more in a second than one after the other on all.
///
/// What will be over before a stream would have woken up is run by the thread that brings it.
class Scheduler {
 public:
  /// A model's place: its queue and its account. Lives until `close` has returned.
  class Line {
   public:
    Line(QueuePolicy policy, Runner& runner) : queue_(std::move(policy)), runner_(runner) {}

   private:
    friend class Scheduler;
    Queue queue_;
    Runner& runner_;
    int running_ = 0;
    int held_ = 0;         ///< threads that refuse jobs it had
    bool listed_ = false;  ///< among those with jobs in their queue
    bool closed_ = false;
    /// By its runs, as time on the whole machine; never less than what a model that was busy all along used.
    std::chrono::nanoseconds used_{0};
    std::chrono::nanoseconds expected_{0};  ///< of the next run
    double ns_a_byte_ = 0;                  ///< that a run takes for its inputs; 0: not known
  };

  /// At most `most_pending` jobs wait in all lines together; 0: no limit.
  Scheduler(int streams, std::size_t most_pending);
  /// All lines must be closed.
  ~Scheduler();

  /// Queues the job, or leaves it and says why. May run it, and some that wait, before it returns.
  std::optional<Status> push(Line& line, JobPtr& job);
  /// Refuses jobs from now on and waits until those it has are answered.
  void close(Line& line);
  /// Refuses jobs of all lines from now on and waits until all are answered, at most until `limit`; false when jobs are
  /// left.
  bool drain(Clock::time_point limit);
  /// Refuses what waits and stops what runs.
  void cancel_all(const Status& why);

  std::size_t waiting(const Line& line) const;
  int streams() const { return streams_; }

 private:
  struct Worker {
    std::condition_variable wake;
    bool called = false;
    std::thread thread;
  };

  void work(Worker& self);
  void watch_clock();
  /// 1, 2, 4, ...: enough for the runs that go on and those that could beside them.
  int parts_now() const;
  bool may_run(const Line& line, Clock::time_point now) const;
  Line* choose(Clock::time_point now) const;
  enum class Help : bool { none, wanted };
  /// Runs a batch of the line. When help is wanted, what is left over is a worker's.
  void serve(Line& line, Clock::time_point now, Help help, std::unique_lock<std::mutex>& lock);
  /// Whether what waits in the line is run sooner by its bringer than a worker would have woken up.
  static bool is_brief(const Line& line);
  void run_what_is_brief(Clock::time_point now);
  /// After every change of a line's queue, whose size was `before`.
  void settle(Line& line, std::size_t before);
  /// A worker that sleeps, taken off the list of those; null when none does.
  Worker* call_worker();
  /// True when the clock must be woken to see `event` in time.
  bool set_clock(Clock::time_point event);
  void look_around(std::unique_lock<std::mutex>& lock);
  using Refused = std::vector<std::pair<Line*, std::vector<JobPtr>>>;
  /// Keep lines from being closed while their jobs are refused.
  void hold(Line& line, int change);
  std::optional<Status> push_locked(Line& line, JobPtr& job, std::vector<JobPtr>& gone);

  const int streams_;
  const std::size_t most_pending_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;   ///< the last to fall asleep is the first to be called: its caches are warm
  std::vector<Line*> waiting_;  ///< lines with jobs in their queue
  std::size_t pending_ = 0;     ///< jobs in all queues
  int running_ = 0;
  int held_ = 0;  ///< lines of which jobs are being refused
  bool stopping_ = false;
  bool draining_ = false;
  std::chrono::nanoseconds used_now_{0};  ///< the account of the line that was served last: where newcomers start
  std::stop_source cancel_;
  std::condition_variable settled_;  ///< a line became empty
  std::condition_variable clock_wake_;
  Clock::time_point clock_at_ = Clock::time_point::max();
  std::thread clock_;
};

}  // namespace colonnade::serve
