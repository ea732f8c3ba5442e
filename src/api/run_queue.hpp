// SPDX-License-Identifier: Apache-2.0
// Runs that were started and not waited for: in order within a session, side by side between sessions.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>

#include "runtime/control.hpp"

namespace colonnade {

/// How often a caller that waits asks whether its run goes on.
inline constexpr std::chrono::milliseconds kBetweenQuestions{2};

/// Tasks that follow each other, done by threads that all queues of the process share. The threads are made when tasks
/// wait and none is idle; they sleep until there are tasks. A process that forks has an empty queue in the child.
class RunQueue {
 public:
  /// Starts no thread where the process has that many already, and one.
  explicit RunQueue(int most_threads) : most_threads_(most_threads) {}
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;
  ~RunQueue() { wait(); }

  /// The task must not throw. Throws Error{resource_limit} when there is no thread for it and none can be made.
  void post(std::function<void()> task);
  /// Returns when all tasks are done; at once within one of them. Throws what `control` says meanwhile; null: nothing.
  void wait(const RunControl* control = nullptr);

 private:
  friend class Dispatcher;
  const int most_threads_;
  std::atomic<int> pending_{0};  ///< tasks that wait or run; the last thing that a task's thread touches
  std::deque<std::function<void()>> tasks_;
  bool is_active_ = false;  ///< a task runs or will be taken
  int generation_ = 0;
};

}  // namespace colonnade
