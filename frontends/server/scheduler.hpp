// SPDX-License-Identifier: Apache-2.0
// The streams of the process, shared by all models: the threads that do what Turns decides.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "frontends/server/turns.hpp"

namespace colonnade::serve {

class Scheduler {
 public:
  using Line = serve::Line;

  /// At most `most_pending` jobs wait in all lines together; 0: no limit. Streams stay on NUMA nodes as `numa` says.
  Scheduler(int streams, std::size_t most_pending, const std::string& numa = "off");
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
  /// Nothing of the line waits or runs.
  bool is_idle(const Line& line) const;
  /// Jobs that wait in all lines.
  std::size_t pending() const;
  int streams() const { return streams_; }

 private:
  struct Worker {
    std::condition_variable wake;
    bool called = false;
    std::thread thread;
  };
  class Section;

  void work(Worker& self);
  void watch_clock();
  void serve(Turns::Turn turn, Clock::time_point now, Section& section);
  void run_what_is_brief(Clock::time_point now);
  /// Tells each why, and lets their lines go.
  template <class Why>
  void refuse(Turns::Gone& gone, const Why& why);
  Worker* called_worker();

  const int streams_;
  mutable std::mutex mutex_;  ///< of what follows
  Turns turns_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;  ///< the last to fall asleep is the first to be called: its caches are warm
  bool stopping_ = false;
  std::condition_variable settled_;
  Clock::time_point clock_sleeps_until_ = Clock::time_point::min();
  std::condition_variable clock_wake_;

  std::stop_source cancel_;
  std::thread clock_;
};

}  // namespace colonnade::serve
