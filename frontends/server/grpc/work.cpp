// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/grpc/work.hpp"

#include <utility>

namespace colonnade::serve {
namespace {

thread_local const Work* work_of_thread = nullptr;  ///< that it is at

}  // namespace

bool Work::run_at_once(const std::function<void()>& task) {
  if (work_of_thread == this) {
    task();
    return true;
  }
  {
    const std::lock_guard lock(mutex_);
    if (busy_ == most_) return false;
    ++busy_;
  }
  const Work* const before = std::exchange(work_of_thread, this);
  task();
  work_of_thread = before;
  const std::lock_guard lock(mutex_);
  --busy_;
  return true;
}

}  // namespace colonnade::serve
