// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/work.hpp"

#include <utility>

namespace colonnade::serve {
namespace {

thread_local const Work* group_of_thread = nullptr;
thread_local const Work* work_of_thread = nullptr;  ///< that it is at

}  // namespace

Work::Member::Member(const Work& work) : before_(std::exchange(group_of_thread, &work)) {}
Work::Member::~Member() { group_of_thread = before_; }

bool Work::run_at_once(const Task& task) {
  if (work_of_thread == this) {
    task();
    return true;
  }
  {
    const std::lock_guard lock(mutex_);
    if (group_of_thread != this || busy_ == most_) return false;
    ++busy_;
  }
  do_here(task);
  return true;
}

void Work::run(Task task) {
  if (work_of_thread == this) return task();
  if (group_of_thread != this) return later_([this, task = std::move(task)] { run(task); });
  {
    const std::lock_guard lock(mutex_);
    if (busy_ == most_) return waiting_.push_back(std::move(task));
    ++busy_;
  }
  do_here(task);
}

/// The place of who is done goes to who waits, by way of `later_`: this thread may be needed where it came from.
void Work::do_here(const Task& task) {
  const Work* const before = std::exchange(work_of_thread, this);
  task();
  work_of_thread = before;
  Task next;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      --busy_;
      return;
    }
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  later_([this, next = std::move(next)] { do_here(next); });
}

}  // namespace colonnade::serve
