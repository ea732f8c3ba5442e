// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <chrono>
#include <map>

#include "colonnade/memory.hpp"
#include "commands.hpp"
#include "explain_html.hpp"
#include "files.hpp"
#include "model_io.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

Stage stage_of(const std::string& name) {
  if (name == "graph") return Stage::graph;
  if (name == "optimized") return Stage::optimized_graph;
  return name == "plan" ? Stage::plan : Stage::program;
}

constexpr int kWarmRuns = 4;
constexpr auto kLongestDuel = std::chrono::seconds(5);

/// The plan once runs on random inputs have decided its duel, if it has one. Adds to each segment its measured time,
/// `measured_ms`, a mean over a few runs.
Json measured_plan(const Model& model, const ShapeMap& overrides) {
  const std::vector<Shape> shapes = model.resolve_shapes(overrides);
  const std::vector<Tensor> inputs = random_inputs(model, shapes, 1);
  const std::vector<TensorView> views = views_of(inputs);
  Session session(model);
  const auto begin = std::chrono::steady_clock::now();
  Json plan;
  do {
    for (int i = 0; i < kWarmRuns; ++i) session.run(views);
    plan = parse_json(model.describe(overrides));
  } while (is_undecided(plan) && std::chrono::steady_clock::now() - begin < kLongestDuel);
  session.set_profiling(true);
  for (int i = 0; i < kProfiledRuns; ++i) session.run(views);
  std::map<double, double> ms_by_index;
  const Json profile = parse_json(session.profile());
  for (const Json& item : array_in(profile, "segments")) ms_by_index[number_in(item, "index")] += number_in(item, "ms");
  for (Json& segment : plan["segments"]) segment["measured_ms"] = ms_by_index[number_in(segment, "index")];
  return plan;
}

std::string measured_text(const Json& segment) {
  return segment.contains("measured_ms") ? ", measured " + human_ms(number_in(segment, "measured_ms")) : "";
}

std::string tensors_text(const char* title, const Json& tensors) {
  std::string out;
  for (const Json& item : tensors)
    out += fmt::format("{:<12} {}  {} {}\n", title, text_in(item, "name"), text_in(item, "dtype"), shape_in(item));
  return out;
}

std::string bytes_text(const Json& object, const char* key) {
  const double bytes = number_in(object, key, -1);
  return bytes < 0 ? "-" : human_bytes(bytes);
}

std::string rows_text(const Json& item) {
  const std::string ring = text_in(item, "ring_rows", "-");
  return fmt::format("{} of {}", ring == "0" ? "-" : ring, text_in(item, "rows", "-"));
}

/// "L2 12 MiB, DRAM 3 MiB": bytes a run moves, by the memory where they lie.
std::string levels_text(const Json& segment) {
  const auto levels = segment.find("level_bytes");
  if (levels == segment.end() || !levels->is_object()) return {};
  std::string text;
  for (const auto& [level, bytes] : levels->items())
    if (bytes.is_number() && bytes.get<double>() > 0)
      text += (text.empty() ? "" : ", ") + level + " " + human_bytes(bytes.get<double>());
  return text.empty() ? text : "  moves " + text + "\n";
}

std::string segment_heading(const Json& segment) {
  std::string line = fmt::format("segment {}  {}, {} operators", text_in(segment, "index", "?"),
                                 text_in(segment, "kind", "unknown"), array_in(segment, "operators").size());
  if (segment.contains("columns")) line += ", " + columns_in(segment);
  if (number_in(segment, "strips") > 1) line += fmt::format(", {} strips", text_in(segment, "strips"));
  if (segment.contains("rows_per_step")) line += fmt::format(", {} rows a step", text_in(segment, "rows_per_step"));
  line += fmt::format("\n  {}flop, predicted {} (arithmetic {}){}; rings {}, weights {}; reads {}, writes {}\n",
                      human_count(number_in(segment, "flop")), human_ms(number_in(segment, "predicted_ms")),
                      human_ms(number_in(segment, "arithmetic_ms")), measured_text(segment),
                      bytes_text(segment, "ring_bytes"), bytes_text(segment, "weights_bytes"),
                      bytes_text(segment, "read_bytes"), bytes_text(segment, "written_bytes"));
  line += levels_text(segment);
  const std::string reason = text_in(segment, "ends_because");
  return reason.empty() ? line : line + fmt::format("  ends because {}\n", reason);
}

/// Of an operator, and how it multiplies where that is not by floats.
std::string type_in(const Json& item) {
  const std::string encoding = text_in(item, "encoding");
  return text_in(item, "op") + (encoding.empty() ? "" : " in " + encoding);
}

std::string operators_text(const Json& segment) {
  Table table;
  table.right = {3, 4, 5};
  table.rows.push_back({"operator", "type", "shape", "live rows", "bytes", "flop"});
  for (const Json& item : array_in(segment, "operators"))
    table.rows.push_back({shortened(text_in(item, "node"), 40), type_in(item), shape_in(item), rows_text(item),
                          bytes_text(item, "bytes"), human_count(number_in(item, "flop"))});
  return fmt::format("\n{}{}", segment_heading(segment), table.text("    "));
}

std::string plan_text(const Json& plan, const std::string& model) {
  std::string out = fmt::format("model        {}\n", text_in(plan, "model", model));
  out += tensors_text("input", array_in(plan, "inputs")) + tensors_text("output", array_in(plan, "outputs"));
  out += fmt::format("plan         {} segments, schedule {}, {} threads, {}, math {}, blocking {}\n",
                     array_in(plan, "segments").size(), text_in(plan, "schedule", "unknown"),
                     text_in(plan, "threads", "?"), text_in(plan, "isa", "unknown isa"),
                     text_in(plan, "math", "unknown"), text_in(plan, "blocking", "unknown"));
  const Json numa = plan.value("numa", Json::object());
  const std::string reason = text_in(numa, "reason");
  out += fmt::format("numa         {}{}; teams {}\n", text_in(numa, "policy", "off"),
                     reason.empty() ? "" : " (" + reason + ")", text_in(numa, "team", "within a node"));
  out += duel_text(plan);
  if (const std::string padding = text_in(plan, "padding"); !padding.empty())
    out += fmt::format("padding      {}\n", padding);
  if (const std::string caches = text_in(plan, "caches"); !caches.empty())
    out += fmt::format("caches       {}\n", caches);
  out += fmt::format("totals       {}flop, weights {}, arena {}\n", human_count(number_in(plan, "flop")),
                     bytes_text(plan, "weights_bytes"), bytes_text(plan, "arena_bytes"));
  out += fmt::format("rates        {}\n", text_in(plan.value("rates", Json::object()), "source", "defaults"));
  for (const Json& segment : array_in(plan, "segments")) out += operators_text(segment);
  return out + island_text(array_in(plan, "islands"));
}

/// What the model needs before it is loaded, and what a run then takes.
Json memory_of(const Model& model, const ShapeMap& overrides) {
  const MemoryNeed need = memory_need(model, overrides);
  Session session(model);
  session.prepare(overrides);
  const Session::MemoryStats taken = session.memory_stats();
  return {{"weights", need.weights},
          {"plan", need.plan},
          {"arena", need.arena},
          {"outputs", need.outputs},
          {"is_known", need.is_known},
          {"taken", {{"weights", taken.weights_bytes}, {"plan", taken.plan_bytes}, {"arena", taken.arena_bytes}}}};
}

std::string memory_text(const Json& memory) {
  std::string out = fmt::format("{:<10}{:>12}{:>12}\n", "memory", "needs", "takes");
  for (const char* part : {"weights", "plan", "arena", "outputs"})
    out += fmt::format("{:<10}{:>12}{:>12}\n", part, bytes_text(memory, part), bytes_text(memory["taken"], part));
  if (!memory["is_known"].get<bool>()) out += "what follows shapes that depend on data is not counted\n";
  return out;
}

}  // namespace

int execute(const ExplainOptions& options, std::string& out) {
  const Model model = open_model(options.engine);
  const ShapeMap overrides = shape_overrides(model.inputs(), options.shape);
  if (options.memory) {
    const Json memory = memory_of(model, overrides);
    out += options.json ? dump(memory) : memory_text(memory);
    return kGood;
  }
  if (!options.stage.empty()) {
    out += model.print(stage_of(options.stage), overrides);
    if (!out.ends_with('\n')) out += '\n';
    if (options.html.empty()) return kGood;
  }
  const Json plan = options.measure ? measured_plan(model, overrides) : parse_json(model.describe(overrides));
  if (!options.html.empty()) write_file(options.html, columns_page(plan, options.engine.model));
  if (options.json)
    out += dump(plan);
  else if (options.html.empty())
    out += plan_text(plan, options.engine.model);
  return kGood;
}

}  // namespace colonnade::cli
