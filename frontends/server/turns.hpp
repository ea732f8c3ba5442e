// SPDX-License-Identifier: Apache-2.0
// Which model's batch runs next, and when somebody has to look again. A plain value: times are given, it has no threads
// and no locks, so that a test can try every order of events.
#pragma once

#include <utility>

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

/// A model's place: its queue and its account. Lives until it is closed and settled.
class Line {
 public:
  Line(QueuePolicy policy, Runner& runner) : queue_(std::move(policy)), runner_(runner) {}

  const Queue& queue() const { return queue_; }
  Runner& runner() const { return runner_; }
  /// Before anything is pushed.
  void never_brief() { queue_.never_brief(); }

 private:
  friend class Turns;
  Queue queue_;
  Runner& runner_;
  int running_ = 0;
  int held_ = 0;         ///< threads that refuse jobs it had
  bool listed_ = false;  ///< among those with jobs in their queue
  bool closed_ = false;
  /// By its runs, as time on the whole machine; never less than what a model that was busy all along used.
  std::chrono::nanoseconds used_{0};
  std::chrono::nanoseconds expected_{0};  ///< of the next run
  /// Runs of one form, number of samples and part of the machine.
  struct Measured {
    std::uint64_t form = 0;
    std::int64_t samples = 0;
    int parts = 0;
    double ns = 0;
  };
  std::vector<Measured> measured_;  ///< the last kinds of run that were new
  std::size_t oldest_ = 0;          ///< of them, once there are many
};

/// Streams take turns: each picks, among the models with work and an instance to spare, the one that used the least of
/// the machine so far, in time on all of it. So a model that floods the server gets what others leave. One stream more
/// than asked for is kept for models of which nothing runs: a short run need not wait for the end of long ones.
///
/// A run that is alone has the whole machine; beside others, or with requests that wait, it has a part, as runs on one
/// core each do more in a second than one after the other on all.
///
/// What will be over before a worker would have woken up is run by the thread that brings it: a run of a kind that was
/// measured, of a model where values cannot make it longer.
///
/// Whoever calls sees to it that `look` is called when `alarm` says, that of the idle workers as many call `next` as
/// `called` gives, and that a worker whose run was finished calls `next` again. Then no job waits for ever.
class Turns {
 public:
  Turns(int streams, std::size_t most_pending) : streams_(streams), most_pending_(most_pending) {}

  /// A run that has begun, `line` has what it needs. `finish` must follow.
  struct Turn {
    Line* line = nullptr;
    std::vector<JobPtr> batch;  ///< empty: nothing was worth running
    std::vector<JobPtr> gone;   ///< to be refused
    int parts = 1;
    std::int64_t samples = 0;  ///< 0 when nothing runs
    std::uint64_t form = 0;
    std::chrono::nanoseconds charged{0};
  };
  /// Jobs that left their queue without a run. Their lines are held, and are to be released when they are refused.
  using Gone = std::vector<std::pair<Line*, std::vector<JobPtr>>>;
  struct Pushed {
    std::optional<Status> refused;  ///< then the job was left where it was
    Gone gone;
    bool brief = false;  ///< who brought it should run it by `next_brief`: no worker was called
  };

  Pushed push(Line& line, JobPtr& job, Clock::time_point now);
  /// The batch of the line whose turn it is. When there is more to do, an idle worker is called.
  std::optional<Turn> next(Clock::time_point now);
  /// As `next`, but only what is over before a worker would have woken up, and calls nobody.
  std::optional<Turn> next_brief(Clock::time_point now);
  /// After the run, which took so long.
  void finish(const Turn& turn, std::chrono::nanoseconds took);
  /// Takes out who waited too long or has left, and calls a worker when a batch has become ripe.
  Gone look(Clock::time_point now);
  Gone take_all(Clock::time_point now);
  void release(Line& line) { hold(line, -1); }

  /// Calls an idle worker when there is something to do.
  void call_if_ready(Clock::time_point now);
  /// The caller is a worker that found nothing to do.
  void rest() { ++idle_; }
  /// Takes one of the calls of idle workers that nobody has passed on; false when there is none.
  bool called() { return called_ > 0 && called_-- > 0; }
  /// When to `look` again; perhaps too early, never too late.
  Clock::time_point alarm() const { return alarm_; }

  /// Refuses jobs from now on: of the line, of all.
  void close(Line& line) { line.closed_ = true; }
  void close_all() { closed_ = true; }
  /// Nothing waits, runs or is being refused.
  bool is_settled(const Line& line) const { return line.queue_.size() == 0 && line.running_ == 0 && line.held_ == 0; }
  bool is_settled() const { return pending_ == 0 && running_ == 0 && held_ == 0; }
  /// Whether something that is closed has settled since this was asked last.
  bool has_settled() { return std::exchange(has_settled_, false); }
  std::size_t pending() const { return pending_; }

 private:
  /// The one way to change what waits in a line: counts, the list of lines that wait and the alarm follow.
  template <class Action>
  void change(Line& line, Clock::time_point now, const Action& action);
  /// What `action` takes out of the queues of all lines that wait.
  template <class Action>
  Gone take_out(Clock::time_point now, const Action& action);
  std::optional<Status> refusal(const Line& line) const;
  /// 1, 2, 4, ...: enough for the runs that go on and those that could beside them.
  int parts_now() const;
  bool may_run(const Line& line, Clock::time_point now) const;
  Line* choose(Clock::time_point now) const;
  /// What such a run takes; nothing where none was measured.
  static const Line::Measured* find(const Line& line, std::uint64_t form, std::int64_t samples, int parts);
  static void learn(Line& line, const Turn& turn, std::chrono::nanoseconds took);
  /// Whether such a run is over sooner than a worker would have woken up.
  static bool is_brief(const Line& line, const Job& first, std::int64_t samples, int parts);
  /// Whether who is first in the line may be run by who brought it, on a part of the machine.
  static bool is_brief(const Line& line, int parts);
  /// `brief_parts`: of a run that must be brief on such a part; 0: any run, on the part that is its share.
  Turn begin(Line& line, Clock::time_point now, int brief_parts = 0);
  /// Calls a worker that rests; does nothing when none does, since the others look before they rest.
  void call();
  void hold(Line& line, int change);
  void hold(Gone& gone, Line& line, std::vector<JobPtr> jobs);
  void note_if_settled(const Line& line);

  const int streams_;
  const std::size_t most_pending_;
  std::vector<Line*> waiting_;  ///< lines with jobs in their queue
  std::size_t pending_ = 0;     ///< jobs in all queues
  int running_ = 0;
  int held_ = 0;    ///< lines of which jobs are being refused, each as often as it is held
  int idle_ = 0;    ///< workers that rest and were not called
  int called_ = 0;  ///< workers that were called and do not know yet
  bool closed_ = false;
  bool has_settled_ = false;
  std::chrono::nanoseconds used_now_{0};  ///< the account of the line that was served last: where newcomers start
  Clock::time_point alarm_ = Clock::time_point::max();
};

}  // namespace colonnade::serve
