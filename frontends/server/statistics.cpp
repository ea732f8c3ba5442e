// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/statistics.hpp"

#include <algorithm>

namespace colonnade::serve {

Reason reason_of(Code code) {
  switch (code) {
    case Code::resource_exhausted:
    case Code::deadline_exceeded:
    case Code::unavailable: return Reason::rejected;
    case Code::cancelled: return Reason::cancelled;
    case Code::internal:
    case Code::unsupported: return Reason::backend;
    case Code::invalid_argument:
    case Code::not_found:
    case Code::unauthorized:
    case Code::too_large: break;
  }
  return Reason::other;
}

void Histogram::add(std::chrono::nanoseconds took) {
  const double ms = std::chrono::duration<double, std::milli>(took).count();
  const auto* const bound = std::lower_bound(kBucketBounds.begin(), kBucketBounds.end(), ms);
  ++buckets[static_cast<std::size_t>(bound - kBucketBounds.begin())];
  sum += took;
}

void Statistics::record_run(const RunTimes& times, std::int64_t samples, std::span<const Answered> requests) {
  const auto input = times.gathered - times.begin, infer = times.inferred - times.gathered,
             output = times.end - times.inferred;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const std::lock_guard lock(mutex_);
  for (const Answered& request : requests) {
    const auto took = times.end - request.received, waited = times.begin - request.queued;
    counts_.success.add(took);
    counts_.queue.add(waited);
    counts_.request_times.add(took);
    counts_.queue_times.add(waited);
  }
  counts_.input.add(input, requests.size());
  counts_.infer.add(infer, requests.size());
  counts_.output.add(output, requests.size());
  counts_.run_times.add(times.end - times.begin);
  Counts::Batch& batch = counts_.batches[samples];
  batch.input.add(input);
  batch.infer.add(infer);
  batch.output.add(output);
  counts_.samples += static_cast<std::uint64_t>(samples);
  ++counts_.runs;
  counts_.last_inference_ms = std::chrono::duration_cast<std::chrono::milliseconds>(wall).count();
}

void Statistics::record_hit(std::chrono::nanoseconds took, std::chrono::nanoseconds looked) {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const std::lock_guard lock(mutex_);
  counts_.success.add(took);
  counts_.request_times.add(took);
  counts_.hit.add(looked);
  counts_.last_inference_ms = std::chrono::duration_cast<std::chrono::milliseconds>(wall).count();
}

void Statistics::record_miss(std::chrono::nanoseconds looked) {
  const std::lock_guard lock(mutex_);
  counts_.miss.add(looked);
}

void Statistics::record_failure(Code code, std::chrono::nanoseconds took) {
  const std::lock_guard lock(mutex_);
  counts_.fail.add(took);
  ++counts_.failures[static_cast<std::size_t>(reason_of(code))];
}

Counts Statistics::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace colonnade::serve
