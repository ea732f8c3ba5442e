// SPDX-License-Identifier: Apache-2.0
// Where the time of profiled runs went, as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/session_impl.hpp"
#include "api/trace.hpp"

namespace colonnade {
namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;

}  // namespace

std::string Session::profile() const {
  const Impl& known = impl().idle();
  const Turn mine(known.turn);
  const Executor& executor = *known.current().executor;
  const Program& program = executor.program();
  const double runs = std::max(1, executor.profiled_runs());
  struct Total {
    double ms = 0;
    std::int64_t calls = 0;
    std::int32_t segment = 0;
  };
  auto operators = ByNode<Total>::of(program.ops.size());
  std::vector<double> segment_ms(program.segments.size(), 0);
  for (const auto& events : executor.events()) {
    std::vector<double> thread_ms(program.segments.size(), 0);
    for (const TraceEvent& event : events) {
      const double ms = static_cast<double>(event.end_ns - event.begin_ns) / kNanosecondsPerMillisecond / runs;
      Total& total = operators[event.op];
      total.ms += ms;
      total.segment = event.segment;
      ++total.calls;
      thread_ms[static_cast<std::size_t>(event.segment)] += ms;
    }
    for (std::size_t i = 0; i < segment_ms.size(); ++i) segment_ms[i] = std::max(segment_ms[i], thread_ms[i]);
  }
  nlohmann::json json = {{"segments", nlohmann::json::array()}, {"operators", nlohmann::json::array()}};
  for (std::size_t i = 0; i < segment_ms.size(); ++i) json["segments"].push_back({{"index", i}, {"ms", segment_ms[i]}});
  for (const NodeIndex i : operators.indices()) {
    if (operators[i].calls == 0) continue;
    json["operators"].push_back({{"node", program.op_names[i]},
                                 {"op", program.op_kinds[i]},
                                 {"kernel", program.ops[i]->kernel()},
                                 {"segment", operators[i].segment},
                                 {"ms", operators[i].ms},
                                 {"calls", static_cast<double>(operators[i].calls) / runs}});
  }
  return json.dump();
}

std::string Session::trace() const {
  const Impl& known = impl().idle();
  const Turn mine(known.turn);
  const Executor& executor = *known.current().executor;
  const Program& program = executor.program();
  return trace_json(
      known.model->name, executor.events(), [&](NodeIndex node) { return program.op_names[node]; },
      [&](NodeIndex node) { return program.op_kinds[node]; });
}

}  // namespace colonnade
