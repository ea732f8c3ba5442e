// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/tracer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "frontends/server/log.hpp"
#include "frontends/server/trace_context.hpp"

namespace colonnade::serve {
namespace {

/// Of what clients name and are told: their traces are bounded.
constexpr std::size_t kMostTextBytes = 200;

/// As clocks on walls show it.
std::int64_t since_1970(Clock::time_point time) {
  const auto wall = std::chrono::system_clock::now() -
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(Clock::now() - time);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(wall.time_since_epoch()).count();
}

/// What was answered, or why nothing was.
void complete(RequestTrace& trace, const InferenceResult& result) {
  const std::int64_t now = since_1970(Clock::now());
  trace.ended = now;
  if (const auto* status = std::get_if<Status>(&result)) {
    trace.problem = status->message.substr(0, kMostTextBytes);
    if (trace.problem.empty()) trace.problem = "failed";
    return;
  }
  const auto& response = std::get<InferenceResponse>(result);
  trace.version = response.version;
  if (response.batch == 0) return;
  trace.began = since_1970(response.began);
  trace.queued = trace.began - response.queued.count();
  trace.computed = trace.began + response.computed.count();
  trace.batch = response.batch;
}

}  // namespace

Tracer::Tracer(const TraceOptions& options) : is_on_(!options.url.empty()), rate_(options.rate) {
  if (!is_on_) return;
  if (!(rate_ >= 0 && rate_ <= 1)) reject(fmt::format("traces: expected a rate of 0 to 1, found {}", rate_));
  address_ = collector_address(options.url);
  thread_ = std::thread([this] { run(); });
}

Tracer::~Tracer() {
  if (!is_on_) return;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, kLastSeconds, [this] { return is_over_; });
  }
  collector_.interrupt();
  thread_.join();
}

Done Tracer::traced(const InferenceRequest& request, Done done) {
  if (!is_on_) return done;
  const std::optional<TraceParent> parent = parse_traceparent(request.traceparent);
  if (parent ? !parent->is_sampled : !is_drawn(rate_)) return done;
  RequestTrace trace;
  trace.trace_id = parent ? parent->trace_id : random_id(32);
  trace.span_id = random_id(16);
  if (parent) trace.parent_id = parent->span_id;
  trace.model = request.model.substr(0, kMostTextBytes);
  trace.protocol = request.protocol;
  trace.version = request.version;
  trace.received = since_1970(request.received);
  return [this, trace = std::move(trace), done = std::move(done)](InferenceResult result) mutable {
    complete(trace, result);
    done(std::move(result));
    leave(std::move(trace));
  };
}

void Tracer::leave(RequestTrace trace) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMostWaiting) {
    ++dropped_;
    return;
  }
  waiting_.push_back(std::move(trace));
  if (waiting_.size() == kMostAtOnce) changed_.notify_all();
}

void Tracer::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_ || !waiting_.empty()) {
    changed_.wait_for(lock, kEvery, [this] { return stopping_ || waiting_.size() >= kMostAtOnce; });
    if (waiting_.empty()) continue;
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(kMostAtOnce, waiting_.size()));
    const std::vector<RequestTrace> traces(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    lock.unlock();
    tell(traces);
    lock.lock();
  }
  is_over_ = true;
  changed_.notify_all();
}

void Tracer::tell(const std::vector<RequestTrace>& traces) {
  std::string problem;
  try {
    problem = collector_.post(address_, otlp_json(traces));
  } catch (const std::exception& error) {
    problem = error.what();
  }
  (problem.empty() ? sent_ : dropped_) += traces.size();
  if (problem.empty() || (said_ != Clock::time_point::min() && Clock::now() - said_ < kQuietFor)) return;
  said_ = Clock::now();
  log(LogLevel::warning, "traces are dropped", {{"reason", std::string_view(problem)}});
}

}  // namespace colonnade::serve
