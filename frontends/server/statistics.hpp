// SPDX-License-Identifier: Apache-2.0
// What a version of a model has done, counted once for /stats and /metrics.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

#include "frontends/server/inference.hpp"

namespace colonnade::serve {

struct Tally {
  std::uint64_t count = 0;
  std::chrono::nanoseconds time{0};

  void add(std::chrono::nanoseconds took) { add(took, 1); }
  void add(std::chrono::nanoseconds took, std::uint64_t times) {
    count += times;
    time += took * static_cast<std::int64_t>(times);
  }
};

/// Why requests fail, as nv_inference_request_failure tells them apart.
enum class Reason : std::uint8_t { rejected, cancelled, backend, other };
inline constexpr std::size_t kReasons = 4;
Reason reason_of(Code code);

/// Upper bounds of the histograms' buckets, in milliseconds; one bucket more takes the rest.
inline constexpr std::array<double, 16> kBucketBounds = {0.1, 0.25, 0.5, 1,   2.5, 5,    10,   25,
                                                         50,  100,  250, 500, 1e3, 2500, 5000, 10000};
struct Histogram {
  std::array<std::uint64_t, kBucketBounds.size() + 1> buckets{};
  std::chrono::nanoseconds sum{0};
  void add(std::chrono::nanoseconds took);
};

/// The phases of a run.
struct RunTimes {
  Clock::time_point begin, gathered, inferred, end;
};

struct Counts {
  Tally success, fail, queue, input, infer, output;
  Tally hit, miss;  ///< answers that were kept, and those looked for in vain
  struct Batch {
    Tally input, infer, output;
  };
  std::map<std::int64_t, Batch> batches;  ///< by the number of samples
  std::uint64_t samples = 0;
  std::uint64_t runs = 0;
  std::array<std::uint64_t, kReasons> failures{};
  Histogram request_times, queue_times, run_times;
  std::int64_t last_inference_ms = 0;  ///< since 1970; 0: never
};

/// Any thread may call anything.
class Statistics {
 public:
  /// A run of `samples` that answered requests, of each of which is known when it came and when it was queued.
  struct Answered {
    Clock::time_point received, queued;
  };
  void record_run(const RunTimes& times, std::int64_t samples, std::span<const Answered> requests);
  /// A request that was answered by what was kept, which was found in so much of its time.
  void record_hit(std::chrono::nanoseconds took, std::chrono::nanoseconds looked);
  void record_miss(std::chrono::nanoseconds looked);
  void record_failure(Code code, std::chrono::nanoseconds took);
  Counts counts() const;

 private:
  mutable std::mutex mutex_;
  Counts counts_;
};

}  // namespace colonnade::serve
