// SPDX-License-Identifier: Apache-2.0
// Threads that answer at once, and what would keep them from it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace colonnade::serve {

/// Of a group of threads, lets at most `most` do what takes long (decoding, brief runs, encoding), so that another one
/// is left for what must be answered at once. Any thread may call.
class Work {
 public:
  using Task = std::function<void()>;
  /// Hands a task to a thread that may do it, and does not do it before it returns.
  using Later = std::function<void(Task)>;

  Work(std::size_t most, Later later) : most_(most), later_(std::move(later)) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  /// Says that this thread belongs to the group, while it lives.
  class Member {
   public:
    explicit Member(const Work& work);
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;
    ~Member();

   private:
    const Work* before_;
  };

  /// Does the task, which must not throw: here, where this thread is of the group and fewer than `most` are at work,
  /// or where it is at work already; else by another thread, when one of those at work is done.
  void run(Task task);
  /// The same, or false where it would have to wait, or by another thread.
  bool run_at_once(const Task& task);

 private:
  void do_here(const Task& task);

  const std::size_t most_;
  const Later later_;
  std::mutex mutex_;  ///< of what follows
  std::size_t busy_ = 0;
  std::deque<Task> waiting_;
};

}  // namespace colonnade::serve
