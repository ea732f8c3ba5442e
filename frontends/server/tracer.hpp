// SPDX-License-Identifier: Apache-2.0
// Traces of requests, told to an OpenTelemetry collector by a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "frontends/server/inference.hpp"
#include "frontends/server/options.hpp"
#include "frontends/server/otlp.hpp"

namespace colonnade::serve {

/// Any thread may call. Outlives the requests that it traces.
class Tracer {
 public:
  struct Counts {
    std::uint64_t sent = 0, dropped = 0;  ///< requests
  };

  /// Throws Failure where the address or the rate is none.
  explicit Tracer(const TraceOptions& options);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  /// Tells what waits, for at most kLastSeconds.
  ~Tracer();

  bool is_on() const { return is_on_; }
  /// `done`, which then also leaves the request's trace, if it is to have one. Never waits for the collector.
  Done traced(const InferenceRequest& request, Done done);
  Counts counts() const { return {sent_, dropped_}; }

 private:
  static constexpr std::size_t kMostWaiting = 4096, kMostAtOnce = 512;
  static constexpr std::chrono::seconds kEvery{1}, kLastSeconds{2}, kQuietFor{60};

  void leave(RequestTrace trace);
  void run();
  void tell(const std::vector<RequestTrace>& traces);

  const bool is_on_;
  const double rate_;
  CollectorAddress address_;
  Collector collector_;
  std::atomic<std::uint64_t> sent_{0}, dropped_{0};
  Clock::time_point said_ = Clock::time_point::min();  ///< when the log was last told of a failure
  std::mutex mutex_;                                   ///< of what follows
  std::condition_variable changed_;
  std::deque<RequestTrace> waiting_;
  bool stopping_ = false, is_over_ = false;
  std::thread thread_;
};

}  // namespace colonnade::serve
