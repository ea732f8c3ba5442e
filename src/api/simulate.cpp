// SPDX-License-Identifier: Apache-2.0
#include "colonnade/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "api/impl.hpp"
#include "api/trace.hpp"
#include "simulate/simulate.hpp"
#include "topology/machine_file.hpp"

namespace colonnade {
namespace {

using nlohmann::json;

constexpr double kMilli = 1e3, kNano = 1e9;

/// As parts of all threads' time.
json shares_json(const simulation::Times& times) {
  const double all = std::max(times.sum(), 1e-12);
  return {{"arithmetic", times.arithmetic / all}, {"memory", times.memory / all},
          {"calls", times.calls / all},           {"rows", times.rows / all},
          {"imbalance", times.imbalance / all},   {"idle", times.idle / all},
          {"barriers", times.barriers / all}};
}

json segment_json(const Graph& graph, const Plan& plan, const simulation::SimulatedSegment& simulated,
                  std::size_t index) {
  const SegmentPlan& segment = plan.segments[simulated.index];
  const Node& first = node_of(graph, segment.nodes.front());
  return {{"index", index},
          {"first", first.name},
          {"operators", segment.nodes.size()},
          {"lists", simulated.lists},
          {"ms", kMilli * simulated.seconds},
          {"share", shares_json(simulated.times)}};
}

json run_json(const Graph& graph, const Plan& plan, const simulation::Simulated& simulated, int threads,
              double alone_seconds) {
  json segments = json::array();
  for (std::size_t i = 0; i < simulated.segments.size(); ++i)
    segments.push_back(segment_json(graph, plan, simulated.segments[i], i));
  const double speedup = simulated.seconds > 0 ? alone_seconds / simulated.seconds : 1;
  return {{"threads", threads},
          {"team", plan.threads},
          {"ms", kMilli * simulated.seconds},
          {"speedup", speedup},
          {"efficiency", speedup / threads},
          {"arena_bytes", plan.arena_bytes},
          {"share", shares_json(simulated.times)},
          {"segments", segments}};
}

json machine_json(const Topology& topology) {
  return {{"cpu_model", topology.cpu_model},
          {"isa", kernels::name_of(topology.features)},
          {"cores", topology.cores.size()},
          {"numa_nodes", topology.nodes.size()},
          {"cores_of_node", topology.cores_of_node()},
          {"rates", topology.rates.source}};
}

std::string trace_of(const Model::Impl& model, const Graph& graph, const simulation::Simulated& simulated) {
  const auto in_ns = [](double seconds) { return static_cast<std::int64_t>(std::llround(kNano * seconds)); };
  std::vector<std::vector<TraceEvent>> threads;
  for (const auto& steps : simulated.steps) {
    threads.emplace_back();
    for (const simulation::SimulatedStep& step : steps)
      threads.back().push_back({step.node, step.segment, in_ns(step.begin), in_ns(step.end)});
  }
  return trace_json(
      model.name, threads, [&](NodeIndex node) { return node_of(graph, node).name; },
      [&](NodeIndex node) { return std::string(name_of(node_of(graph, node).op)); });
}

/// Those that were asked for, or 1, 2, 4 and so on, and all cores.
std::vector<int> teams_of(std::vector<int> threads, const Topology& topology) {
  const auto cores = static_cast<int>(topology.cores.size());
  if (threads.empty()) {
    for (int count = 1; count < cores; count *= 2) threads.push_back(count);
    threads.push_back(cores);
  }
  for (const int count : threads)
    if (count < 1 || count > cores)
      fail(ErrorCode::invalid_argument, "threads: expected 1 to {}, the cores of '{}', found {}", cores,
           topology.cpu_model, count);
  return threads;
}

}  // namespace

Simulation simulate(const Model& model, const ShapeMap& overrides, const SimulateOptions& options) {
  const Model::Impl& impl = *known(model);
  const Topology topology = options.machine.empty() ? impl.topology : parse_machine(options.machine);
  const std::vector<int> teams = teams_of(options.threads, topology);
  const BoundGraph bound = bound_graph(*impl.optimized, model.resolve_shapes(overrides), {}, impl.options.math);
  PlanOptions wanted{impl.options.schedule, impl.options.math, 1,
                     static_cast<std::int64_t>(impl.options.memory_limit_bytes)};
  const double alone = simulation::simulate(bound.graph, topology, make_plan(bound.graph, topology, wanted)).seconds;
  Simulation made;
  json runs = json::array();
  for (std::size_t i = 0; i < teams.size(); ++i) {
    wanted.threads = teams[i];
    const bool is_last = i + 1 == teams.size();
    const Plan plan = make_plan(bound.graph, topology, wanted);
    const simulation::Simulated simulated = simulation::simulate(bound.graph, topology, plan, is_last);
    runs.push_back(run_json(bound.graph, plan, simulated, wanted.threads, alone));
    if (is_last) made.trace = trace_of(impl, bound.graph, simulated);
  }
  made.report = json{
      {"model", impl.name},
      {"machine", machine_json(topology)},
      {"apart", bound.rest ? bound.rest->apart.size() : 0},
      {"later", bound.rest && bound.rest->tail ? bound.rest->tail->nodes.size() : 0},
      {"runs",
       runs}}.dump();
  return made;
}

}  // namespace colonnade
