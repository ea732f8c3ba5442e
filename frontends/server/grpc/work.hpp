// SPDX-License-Identifier: Apache-2.0
// Threads that answer at once, and what would keep them from it.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>

namespace colonnade::serve {

/// Of the network's threads, lets at most `most` do what takes a while (decoding, brief runs, encoding), so that
/// another one is left for what must be answered at once. Any thread may call.
class Work {
 public:
  explicit Work(std::size_t most) : most_(most) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  /// Does the task, which must not throw, where this thread is at work already or fewer than `most` are; else false.
  bool run_at_once(const std::function<void()>& task);

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::size_t busy_ = 0;
};

}  // namespace colonnade::serve
