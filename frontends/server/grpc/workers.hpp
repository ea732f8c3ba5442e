// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace colonnade::serve {

/// A few threads for what takes long, and a queue of bounded length. Any thread may call.
class Workers {
 public:
  Workers(int threads, std::size_t most_waiting);
  /// Finishes what was posted.
  ~Workers();

  /// False when too many wait. `work` must not throw.
  bool post(std::function<void()> work);

 private:
  void run();

  const std::size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace colonnade::serve
