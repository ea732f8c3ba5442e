// SPDX-License-Identifier: Apache-2.0
#include "api/trace.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace colonnade {
namespace {

constexpr double kNanosecondsPerMicrosecond = 1e3;

}  // namespace

std::string trace_json(const std::string& process, const std::vector<std::vector<TraceEvent>>& threads,
                       const NodeText& name, const NodeText& kind) {
  const auto pid = static_cast<std::int64_t>(::getpid());
  std::int64_t start = std::numeric_limits<std::int64_t>::max();
  for (const auto& list : threads)
    for (const TraceEvent& event : list) start = std::min(start, event.begin_ns);
  nlohmann::json events = nlohmann::json::array();
  const auto call = [&](const char* what, std::size_t thread, const std::string& text) {
    events.push_back({{"name", what}, {"ph", "M"}, {"pid", pid}, {"tid", thread}, {"args", {{"name", text}}}});
  };
  call("process_name", 0, process);
  for (std::size_t thread = 0; thread < threads.size(); ++thread) {
    call("thread_name", thread, "thread " + std::to_string(thread) + " of the plan");
    for (const TraceEvent& event : threads[thread])
      events.push_back({{"name", name(event.op)},
                        {"cat", kind(event.op)},
                        {"ph", "X"},
                        {"ts", static_cast<double>(event.begin_ns - start) / kNanosecondsPerMicrosecond},
                        {"dur", static_cast<double>(event.end_ns - event.begin_ns) / kNanosecondsPerMicrosecond},
                        {"pid", pid},
                        {"tid", thread},
                        {"args", {{"segment", event.segment}}}});
  }
  return nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace colonnade
