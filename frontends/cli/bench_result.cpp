// SPDX-License-Identifier: Apache-2.0
#include "bench_result.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace colonnade::cli {
namespace {

constexpr std::size_t kOperatorsShown = 15;

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

/// Flop over milliseconds in GFLOP/s.
double rate(double flop, double ms) { return ratio(flop * 1e-6, ms); }

/// Segments of the description, each with its measured time.
Json timed_segments(const BenchResult& result) {
  std::map<double, double> ms_by_index;
  double total = 0;
  for (const Json& item : array_in(result.profile, "segments")) {
    ms_by_index[number_in(item, "index")] += number_in(item, "ms");
    total += number_in(item, "ms");
  }
  Json segments = Json::array();
  for (const Json& segment : array_in(result.description, "segments")) {
    const double index = number_in(segment, "index", static_cast<double>(segments.size()));
    const double ms = ms_by_index.contains(index) ? ms_by_index[index] : 0;
    segments.push_back(
        {{"index", index},
         {"kind", text_in(segment, "kind", "unknown")},
         {"operators", array_in(segment, "operators").size()},
         {"first", array_in(segment, "operators").empty() ? "" : text_in(array_in(segment, "operators")[0], "node")},
         {"ms", ms},
         {"share", ratio(ms, total)},
         {"flop", number_in(segment, "flop")},
         {"gflops", rate(number_in(segment, "flop"), ms)},
         {"predicted_ms", number_in(segment, "predicted_ms")}});
  }
  return segments;
}

/// Difference between predicted and measured time of the segments, over the measured time of all.
double prediction_error(const BenchResult& result) {
  double off = 0, total = 0;
  for (const Json& item : timed_segments(result)) {
    off += std::abs(number_in(item, "predicted_ms") - number_in(item, "ms"));
    total += number_in(item, "ms");
  }
  return ratio(off, total);
}

/// Operators of the profile, slowest first, with the flop and shape that the description knows.
Json timed_operators(const BenchResult& result) {
  std::map<std::pair<double, std::string>, const Json*> described;
  for (const Json& segment : array_in(result.description, "segments"))
    for (const Json& item : array_in(segment, "operators"))
      described[{number_in(segment, "index"), text_in(item, "node")}] = &item;
  double total = 0;
  for (const Json& item : array_in(result.profile, "operators")) total += number_in(item, "ms");
  std::vector<Json> operators;
  for (const Json& item : array_in(result.profile, "operators")) {
    const auto known = described.find({number_in(item, "segment"), text_in(item, "node")});
    const Json detail = known == described.end() ? Json::object() : *known->second;
    const double ms = number_in(item, "ms");
    operators.push_back({{"node", text_in(item, "node")},
                         {"op", text_in(item, "op")},
                         {"segment", number_in(item, "segment")},
                         {"ms", ms},
                         {"share", ratio(ms, total)},
                         {"calls", number_in(item, "calls")},
                         {"flop", number_in(detail, "flop")},
                         {"gflops", rate(number_in(detail, "flop"), ms)},
                         {"shape", detail.contains("shape") ? detail["shape"] : Json(nullptr)}});
  }
  std::stable_sort(operators.begin(), operators.end(), [](const Json& a, const Json& b) { return a["ms"] > b["ms"]; });
  return operators;
}

std::string machine_line(const Json& machine) {
  std::string caches;
  for (const Json& cache : array_in(machine, "caches"))
    caches += fmt::format(", L{:.0f} {}", number_in(cache, "level"), human_bytes(number_in(cache, "bytes")));
  return fmt::format("{}, {}, {} cores{}", text_in(machine, "cpu_model", "unknown cpu"),
                     text_in(machine, "isa", "unknown isa"), text_in(machine, "physical_cores", "?"), caches);
}

std::string latency_text(const BenchResult& result) {
  const auto& latencies = result.latencies_ms;
  Table table;
  table.right = {0, 1, 2, 3, 4, 5, 6};
  table.rows.push_back({"min", "mean", "p50", "p90", "p95", "p99", "max"});
  table.rows.push_back({human_ms(latencies.front()), human_ms(result.mean_ms()), human_ms(result.percentile(0.5)),
                        human_ms(result.percentile(0.9)), human_ms(result.percentile(0.95)),
                        human_ms(result.percentile(0.99)), human_ms(latencies.back())});
  std::string throughput = fmt::format("{:.2f} runs/s", result.runs_per_s());
  if (result.batch > 1)
    throughput += fmt::format(", {:.2f} samples/s", result.runs_per_s() * static_cast<double>(result.batch));
  return fmt::format("latency of {} runs\n{}throughput   {}\n", latencies.size(), table.text(), throughput);
}

std::string segment_text(const BenchResult& result) {
  Table table;
  table.right = {0, 2, 3, 4, 5, 6};
  table.rows.push_back({"segment", "kind", "operators", "time", "share", "GFLOP/s", "predicted", "first operator"});
  for (const Json& item : timed_segments(result))
    table.rows.push_back({fmt::format("{:.0f}", number_in(item, "index")), text_in(item, "kind"),
                          text_in(item, "operators"), human_ms(number_in(item, "ms")),
                          fmt::format("{:.1f} %", 100 * number_in(item, "share")),
                          fmt::format("{:.1f}", number_in(item, "gflops")), human_ms(number_in(item, "predicted_ms")),
                          shortened(text_in(item, "first"), 40)});
  if (table.rows.size() == 1) return "";
  return fmt::format("\n{}prediction off by {:.0f} % of the time\n", table.text(""), 100 * prediction_error(result));
}

std::string operator_text(const BenchResult& result) {
  const Json operators = timed_operators(result);
  Table table;
  table.right = {2, 3, 4, 5};
  table.rows.push_back({"operator", "type", "segment", "time", "share", "GFLOP/s"});
  for (const Json& item : operators) {
    if (table.rows.size() > kOperatorsShown) break;
    table.rows.push_back({shortened(text_in(item, "node"), 40), text_in(item, "op"),
                          fmt::format("{:.0f}", number_in(item, "segment")), human_ms(number_in(item, "ms")),
                          fmt::format("{:.1f} %", 100 * number_in(item, "share")),
                          number_in(item, "flop") > 0 ? fmt::format("{:.1f}", number_in(item, "gflops")) : "-"});
  }
  if (operators.empty()) return "";
  const std::string rest = operators.size() > kOperatorsShown
                               ? fmt::format("({} more operators)\n", operators.size() - kOperatorsShown)
                               : "";
  return "\n" + table.text("") + rest;
}

/// Islands that take much of the time, slowest first.
Json slow_islands(const BenchResult& result) {
  constexpr double kLargeShare = 0.1;
  std::map<std::string, const Json*> islands;
  for (const Json& item : array_in(result.description, "islands")) islands[text_in(item, "node")] = &item;
  Json slow = Json::array();
  for (const Json& item : timed_operators(result)) {
    const auto island = islands.find(text_in(item, "node"));
    if (island == islands.end() || number_in(item, "share") < kLargeShare) continue;
    slow.push_back({{"node", text_in(item, "node")},
                    {"op", text_in(item, "op")},
                    {"share", item["share"]},
                    {"engine", text_in(*island->second, "engine")}});
  }
  return slow;
}

std::string warning_text(const BenchResult& result) {
  std::string text;
  for (const Json& item : slow_islands(result))
    text += fmt::format(
        "warning: '{}' ({}) takes {:.0f} % of the time, an island that {} runs\n", shortened(text_in(item, "node"), 40),
        text_in(item, "op"), 100 * number_in(item, "share"),
        text_in(item, "engine") == "reference" ? "the slow reference implementation" : text_in(item, "engine"));
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

double BenchResult::flop() const { return number_in(description, "flop"); }

double BenchResult::mean_ms() const {
  const double sum = std::accumulate(latencies_ms.begin(), latencies_ms.end(), 0.0);
  return ratio(sum, static_cast<double>(latencies_ms.size()));
}

double BenchResult::runs_per_s() const { return ratio(1000 * static_cast<double>(latencies_ms.size()), elapsed_ms); }

double BenchResult::gflops() const { return flop() * runs_per_s() * 1e-9; }

double BenchResult::percent_of_peak() const { return 100 * ratio(gflops(), peak_gflops); }

double BenchResult::percentile(double fraction) const {
  const double position = fraction * static_cast<double>(latencies_ms.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, latencies_ms.size() - 1);
  const double weight = position - static_cast<double>(below);
  return latencies_ms[below] + weight * (latencies_ms[above] - latencies_ms[below]);
}

Json to_json(const BenchResult& result) {
  return {{"schema", "colonnade.bench/1"},
          {"version", std::string(version())},
          {"model", result.model},
          {"machine", result.machine},
          {"threads", result.threads},
          {"streams", result.streams},
          {"batch", result.batch},
          {"schedule", text_in(result.description, "schedule", "unknown")},
          {"isa", text_in(result.description, "isa", "unknown")},
          {"blocking", text_in(result.description, "blocking", "unknown")},
          {"load_ms", finite(result.load_ms)},
          {"plan_ms", finite(result.plan_ms)},
          {"first_run_ms", finite(result.first_run_ms)},
          {"runs", result.latencies_ms.size()},
          {"latency_ms",
           {{"min", finite(result.latencies_ms.front())},
            {"mean", finite(result.mean_ms())},
            {"p50", finite(result.percentile(0.5))},
            {"p90", finite(result.percentile(0.9))},
            {"p95", finite(result.percentile(0.95))},
            {"p99", finite(result.percentile(0.99))},
            {"max", finite(result.latencies_ms.back())}}},
          {"runs_per_s", finite(result.runs_per_s())},
          {"throughput_per_s", finite(result.runs_per_s() * static_cast<double>(result.batch))},
          {"weights_bytes", result.weights_bytes},
          {"arena_bytes", result.arena_bytes},
          {"duel", result.description.value("duel", Json())},
          {"idle_rss_bytes", result.idle_rss_bytes},
          {"peak_rss_bytes", result.peak_rss_bytes},
          {"flop", finite(result.flop())},
          {"gflops", finite(result.gflops())},
          {"peak_gflops", finite(result.peak_gflops)},
          {"percent_of_peak", finite(result.percent_of_peak())},
          {"segments", timed_segments(result)},
          {"prediction_error", finite(prediction_error(result))},
          {"islands", array_in(result.description, "islands")},
          {"slow_islands", slow_islands(result)},
          {"operators", timed_operators(result)}};
}

std::string to_text(const BenchResult& result, bool quiet) {
  if (quiet) return latency_text(result);
  const std::size_t above_idle = result.peak_rss_bytes - std::min(result.idle_rss_bytes, result.peak_rss_bytes);
  std::string out = fmt::format("model        {}\nmachine      {}\n", result.model, machine_line(result.machine));
  out += fmt::format("run          {} thread{}, {} stream{}, batch {}, schedule {}\n", result.threads,
                     result.threads == 1 ? "" : "s", result.streams, result.streams == 1 ? "" : "s", result.batch,
                     text_in(result.description, "schedule", "unknown"));
  out += duel_text(result.description);
  out += fmt::format("start        load {}, plan {}, first run {}\n", human_ms(result.load_ms),
                     human_ms(result.plan_ms), human_ms(result.first_run_ms));
  out += fmt::format(
      "memory       weights {}, arena {}, peak above idle {}\n", human_bytes(static_cast<double>(result.weights_bytes)),
      human_bytes(static_cast<double>(result.arena_bytes)), human_bytes(static_cast<double>(above_idle)));
  const Json rates = result.machine.value("rates", Json::object());
  if (text_in(rates, "source", "defaults") == "defaults")
    out += "rates        expected, not measured: `colonnade machine` measures this machine once\n";
  out += latency_text(result);
  out += fmt::format("arithmetic   {}flop a run, {:.1f} GFLOP/s, {:.1f} % of the FMA peak ({:.0f} GFLOP/s)\n",
                     human_count(result.flop()), result.gflops(), result.percent_of_peak(), result.peak_gflops);
  if (result.percent_of_peak() > 100)
    out +=
        "             (above 100 %: a convolution counts as direct, of which Winograd multiplies a part; matrix units "
        "are faster than FMA)\n";
  return out + segment_text(result) + operator_text(result) + island_text(array_in(result.description, "islands")) +
         warning_text(result);
}

}  // namespace colonnade::cli
