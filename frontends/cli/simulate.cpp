// SPDX-License-Identifier: Apache-2.0
#include "colonnade/simulate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "commands.hpp"
#include "files.hpp"
#include "model_io.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

/// Where threads' time goes, as the report and the table call it, and what it means.
struct Share {
  const char* name;
  const char* meaning;
};
constexpr Share kShares[] = {
    {"arithmetic", "kernels, operands in L2"},
    {"memory", "bytes from beyond L2"},
    {"calls", "starting steps"},
    {"rows", "waiting for rows of the next band"},
    {"imbalance", "waiting for a segment's last thread"},
    {"idle", "no list in a segment"},
    {"barriers", "meeting between segments"},
};
constexpr std::size_t kSegmentsShown = 8;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

double share_in(const Json& item, const char* name) { return number_in(item.value("share", Json::object()), name); }

/// The largest of what is not arithmetic.
Share largest_loss(const Json& item) {
  return *std::max_element(std::begin(kShares) + 1, std::end(kShares), [&](const Share& a, const Share& b) {
    return share_in(item, a.name) < share_in(item, b.name);
  });
}

std::string runs_text(const Json& runs) {
  Table table;
  table.rows.push_back({"threads", "time", "speed-up", "efficiency"});
  for (const Share& share : kShares) table.rows.back().emplace_back(share.name);
  for (std::size_t column = 0; column < table.rows.front().size(); ++column) table.right.push_back(column);
  for (const Json& run : runs) {
    table.rows.push_back({text_in(run, "threads"), human_ms(number_in(run, "ms")),
                          fmt::format("{:.2f}", number_in(run, "speedup")), percent(number_in(run, "efficiency"))});
    for (const Share& share : kShares) table.rows.back().push_back(percent(share_in(run, share.name)));
  }
  return table.text("");
}

/// Of one run: what bounds it, and the segments that lose the most.
std::string losses_text(const Json& run) {
  std::vector<std::pair<double, const Json*>> losses;
  double lost = 0;
  for (const Json& segment : run["segments"]) {
    losses.emplace_back(number_in(segment, "ms") * (1 - share_in(segment, "arithmetic")), &segment);
    lost += losses.back().first;
  }
  std::stable_sort(losses.begin(), losses.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const Share most = largest_loss(run);
  std::string out =
      fmt::format("{} threads{}: most of what is not arithmetic is {} ({}, {})\n\n", text_in(run, "threads"),
                  run["team"] == run["threads"] ? "" : " (the plan has " + text_in(run, "team") + ")", most.name,
                  most.meaning, percent(share_in(run, most.name)));
  Table table;
  table.right = {1, 2, 3, 4};
  table.rows.push_back({"segment", "operators", "lists", "time", "lost", "most of it", "first operator"});
  for (std::size_t i = 0; i < std::min(kSegmentsShown, losses.size()); ++i) {
    const Json& segment = *losses[i].second;
    table.rows.push_back({text_in(segment, "index"), text_in(segment, "operators"), text_in(segment, "lists"),
                          human_ms(number_in(segment, "ms")), lost > 0 ? percent(losses[i].first / lost) : "-",
                          largest_loss(segment).name, shortened(text_in(segment, "first"), 40)});
  }
  return out + table.text("");
}

std::string report_text(const Json& report) {
  const Json machine = report.value("machine", Json::object());
  std::string out = fmt::format("model    {}\nmachine  {}, {} cores, {} NUMA nodes, {}; rates: {}\n\n",
                                text_in(report, "model"), text_in(machine, "cpu_model"), text_in(machine, "cores"),
                                text_in(machine, "numa_nodes"), text_in(machine, "isa"), text_in(machine, "rates"));
  const Json runs = array_in(report, "runs");
  out += runs_text(runs) + "\n" + losses_text(runs.back());
  if (number_in(report, "apart") + number_in(report, "later") > 0)
    out += fmt::format("not counted: {} operators that are not planned, {} after them\n", text_in(report, "apart"),
                       text_in(report, "later"));
  if (number_in(machine, "numa_nodes") > 1)
    out += fmt::format("teams of more than a node's {} cores run only where a run is long\n",
                       text_in(machine, "cores_of_node"));
  return out;
}

std::string text_of(const std::string& file) {
  const std::vector<std::byte> bytes = read_file(file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

int execute(const SimulateArguments& arguments, std::string& out) {
  SimulateOptions options;
  options.threads = arguments.threads;
  if (!arguments.machine.empty()) options.machine = text_of(arguments.machine);
  const Model model = open_model(arguments.engine);
  const Simulation simulation = simulate(model, shape_overrides(model.inputs(), arguments.shape), options);
  if (!arguments.trace.empty()) write_file(arguments.trace, simulation.trace);
  const Json report = parse_json(simulation.report);
  out += arguments.json ? dump(report) : report_text(report);
  return kGood;
}

}  // namespace colonnade::cli
