// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "commands.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

std::string cache_text(const Json& machine) {
  std::string text;
  for (const Json& cache : array_in(machine, "caches")) {
    const double sharing = number_in(cache, "sharing_cores", 1);
    text += fmt::format("{}L{:.0f} {}{}", text.empty() ? "" : ", ", number_in(cache, "level"),
                        human_bytes(number_in(cache, "bytes")),
                        sharing > 1 ? fmt::format(" (shared by {:.0f} cores)", sharing) : "");
  }
  return text.empty() ? "unknown" : text;
}

std::string rates_text(const Json& machine) {
  const Json rates = machine.value("rates", Json::object());
  Table table;
  table.right = {1, 2};
  const std::string source = text_in(rates, "source", "defaults");
  const bool measured = source != "defaults";
  table.rows.push_back({measured ? "measured" : "expected", "one thread",
                        fmt::format("{:.0f} together", number_in(rates, "total_threads", 1))});
  const auto row = [&](const char* name, const char* one, const char* all, const char* unit) {
    table.rows.push_back({name, fmt::format("{:.1f} {}", number_in(rates, one), unit),
                          *all == 0 ? "" : fmt::format("{:.1f} {}", number_in(rates, all), unit)});
  };
  row("fp32 FMA", "fma_gflops", "", "GFLOP/s");
  row("read L2", "l2_gbs", "", "GB/s");
  row("read L3", "l3_gbs", "l3_total_gbs", "GB/s");
  row("read DRAM", "dram_gbs", "dram_total_gbs", "GB/s");
  table.rows.push_back({"barrier", "", fmt::format("{:.2f} us", number_in(rates, "barrier_us"))});
  table.rows.push_back({"wake threads", "", fmt::format("{:.2f} us", number_in(rates, "team_us"))});
  table.rows.push_back({"step", fmt::format("{:.3f} us", number_in(rates, "step_us")), ""});
  Table work;
  work.right = {1, 2};
  work.rows.push_back({"kernel", "depth", "G/s"});
  const Json kinds = rates.value("work", Json::object());
  for (const auto& [kind, points] : kinds.items())
    for (const Json& point : points)
      work.rows.push_back(
          {kind, fmt::format("{:g}", point[0].get<double>()), fmt::format("{:.1f}", point[1].get<double>())});
  std::string text = fmt::format("\n{}\n{}", table.text(""), work.text(""));
  const std::string error = text_in(rates, "error");
  if (!error.empty()) return text + "\nnot kept: " + error + "\n";
  return text + (measured ? "\nkept in " + source + "\n" : "\nnot measured: `colonnade machine` does\n");
}

/// "2; node 0: 62 GiB, distances 10 21; node 1: 63 GiB, distances 21 10"
std::string nodes_text(const Json& machine) {
  const Json nodes = array_in(machine, "nodes");
  std::string text = std::to_string(nodes.size());
  for (const Json& node : nodes) {
    if (nodes.size() < 2) break;
    text += fmt::format("; node {}: {}", text_in(node, "number"), human_bytes(number_in(node, "memory_bytes")));
    std::string distances;
    for (const Json& distance : array_in(node, "distances")) distances += fmt::format(" {}", distance.get<int>());
    if (!distances.empty()) text += ", distances" + distances;
  }
  return text;
}

/// Also what the processor has and this build does not.
std::string isa_text(const Json& machine) {
  std::string left_out;
  for (const Json& tier : array_in(machine, "isa_left_out"))
    left_out += (left_out.empty() ? "" : ", ") + tier.get<std::string>();
  const std::string isa = text_in(machine, "isa", "unknown");
  return left_out.empty() ? isa : fmt::format("{} (this build has no kernels for {})", isa, left_out);
}

std::string machine_text(const Json& machine) {
  const double quota = number_in(machine, "cpu_quota");
  Table table;
  table.rows = {
      {"cpu", text_in(machine, "cpu_model", "unknown")},
      {"isa", isa_text(machine)},
      {"blocking", text_in(machine, "blocking", "unknown")},
      {"physical cores", text_in(machine, "physical_cores", "unknown")},
      {"default threads", text_in(machine, "default_threads", "unknown")},
      {"cpu quota", quota > 0 ? fmt::format("{:g} cores", quota) : "none"},
      {"numa nodes", nodes_text(machine)},
      {"caches", cache_text(machine)},
      {"memory", number_in(machine, "memory_bytes") > 0 ? human_bytes(number_in(machine, "memory_bytes")) : "unknown"},
  };
  return table.text("") + rates_text(machine);
}

}  // namespace

int execute(const MachineOptions& options, std::string& out) {
  const Json machine = parse_json(describe_machine(!options.no_measure));
  out += options.json ? dump(machine) : machine_text(machine);
  return kGood;
}

}  // namespace colonnade::cli
