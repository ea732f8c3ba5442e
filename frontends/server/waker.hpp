// SPDX-License-Identifier: Apache-2.0
// Requests for models that were unloaded to make room: they wait until the model is loaded again.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "frontends/server/inference.hpp"

namespace colonnade::serve {

class Waker {
 public:
  /// Loads a model, or throws Failure.
  using Load = std::function<void(const std::string& model)>;
  /// Asks once more, for a model that was loaded.
  using Ask = std::function<void(InferenceRequest, Done)>;

  /// At most `most` requests wait, and no longer than `timeout` where that is not 0.
  Waker(Load load, Ask ask, std::size_t most, std::chrono::milliseconds timeout);
  /// Refuses who waits; a load under way ends first.
  ~Waker();

  /// Any thread. Returns at once; the request is asked again or refused in its time.
  void wait(InferenceRequest request, Done done);

 private:
  struct Pending {
    InferenceRequest request;
    Done done;
    Clock::time_point end;
  };

  void load_models();
  void watch_clock();
  /// Those that wait for a model, or all whose time is over.
  std::vector<Pending> take(const std::string& model);
  std::vector<Pending> take_late(Clock::time_point now);
  std::vector<Pending> take_all();
  static void refuse(std::vector<Pending> pending, const Status& why);

  const Load load_;
  const Ask ask_;
  const std::size_t most_;
  const std::chrono::milliseconds timeout_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable wake_, clock_wake_;
  std::deque<std::string> models_;  ///< to be loaded
  std::map<std::string, std::vector<Pending>> pending_;
  std::size_t count_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace colonnade::serve
