// SPDX-License-Identifier: Apache-2.0
// The processors that the process may use, followed while it runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace colonnade {

class Processors {
 public:
  /// Those of now, as seen by the calling thread (processors_of_process).
  Processors();
  const std::vector<int>& list() const { return list_; }

  /// Whether they are others by now, for the calling thread and the process's first one: that one says when it is time
  /// to look. Looks every 100 ms at most, else answers false; allocates nothing while nothing changes. Any thread.
  bool have_changed();
  /// What the first thread may use now is our own doing, and says nothing about the process. Any thread.
  void accept_first();

 private:
  using Mask = std::vector<std::byte>;
  static void read_first(Mask& mask);

  std::vector<int> list_;
  std::mutex mutex_;
  std::atomic<std::int64_t> next_look_ns_;
  std::int64_t settled_ns_ = 0;  ///< when all threads have what the first one got last
  Mask first_, found_;           ///< what the first thread may use: as last seen, and now
};

}  // namespace colonnade
