// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

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

/// Members whose names are numbers of threads, in their order.
std::vector<std::pair<std::string, double>> by_threads(const Json& object) {
  std::vector<std::pair<std::string, double>> values;
  if (!object.is_object()) return values;
  for (const auto& [key, value] : object.items())
    if (!key.empty() && key.find_first_not_of("0123456789") == std::string::npos && value.is_number())
      values.emplace_back(key, value.get<double>());
  return values;
}

std::string measured_text(const Json& machine) {
  const Json peak = machine.is_object() && machine.contains("peak_gflops") ? machine["peak_gflops"] : Json();
  Table table;
  table.right = {1, 2, 3, 4};
  table.rows.push_back({"measured", "working set"});
  for (const auto& [threads, value] : by_threads(peak))
    table.rows[0].push_back(fmt::format("{} thread{}", threads, threads == "1" ? "" : "s"));
  const auto row = [&](const std::string& name, const std::string& set, const Json& values, const char* unit) {
    table.rows.push_back({name, set});
    for (const auto& [threads, value] : by_threads(values))
      table.rows.back().push_back(fmt::format("{:.1f} {}", value, unit));
  };
  if (peak.is_object()) row("fp32 FMA", "", peak, "GFLOP/s");
  for (const Json& level : array_in(machine, "read_gbs")) {
    const std::string name = text_in(level, "level");
    const bool numbered = !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
    row(fmt::format("read {}{}", numbered ? "L" : "", name), human_bytes(number_in(level, "working_set_bytes")), level,
        "GB/s");
  }
  return table.rows.size() > 1 ? "\n" + table.text("") : "";
}

std::string machine_text(const Json& machine) {
  const double quota = number_in(machine, "cpu_quota");
  Table table;
  table.rows = {
      {"cpu", text_in(machine, "cpu_model", "unknown")},
      {"isa", text_in(machine, "isa", "unknown")},
      {"physical cores", text_in(machine, "physical_cores", "unknown")},
      {"default threads", text_in(machine, "default_threads", "unknown")},
      {"cpu quota", quota > 0 ? fmt::format("{:g} cores", quota) : "none"},
      {"numa nodes", text_in(machine, "numa_nodes", "unknown")},
      {"caches", cache_text(machine)},
      {"memory", number_in(machine, "memory_bytes") > 0 ? human_bytes(number_in(machine, "memory_bytes")) : "unknown"},
  };
  return table.text("") + measured_text(machine);
}

}  // namespace

int execute(const MachineOptions& options, std::string& out) {
  const Json machine = parse_json(describe_machine(!options.no_measure));
  out += options.json ? dump(machine) : machine_text(machine);
  return kGood;
}

}  // namespace colonnade::cli
