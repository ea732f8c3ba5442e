// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "commands.hpp"
#include "compare.hpp"
#include "files.hpp"
#include "model_io.hpp"
#include "process.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

namespace fs = std::filesystem;

/// Inputs and what must come out; an undefined expected tensor is not compared.
struct Case {
  std::string name;
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;
};

/// FOLDER/PREFIX_0.pb, _1.pb, ... as far as they go.
std::vector<Tensor> read_numbered(const fs::path& folder, const std::string& prefix, std::size_t count) {
  std::vector<Tensor> tensors(count);
  for (std::size_t i = 0; i < count; ++i) {
    const fs::path file = folder / fmt::format("{}_{}.pb", prefix, i);
    if (fs::exists(file)) tensors[i] = std::move(read_tensors(file.string())[0].tensor);
  }
  return tensors;
}

std::vector<Tensor> read_data_side(const fs::path& folder, const std::string& side, std::span<const TensorInfo> infos) {
  const fs::path archive = folder / (side + "s.npz");
  if (!fs::exists(archive)) return read_numbered(folder, side, infos.size());
  std::vector<Tensor> tensors(infos.size());
  for (NamedTensor& item : parse_npz(read_file(archive.string()), archive.string()))
    tensors[find_name(infos, item.name, side.c_str())] = std::move(item.tensor);
  return tensors;
}

bool holds_data(const fs::path& folder) {
  return fs::exists(folder / "input_0.pb") || fs::exists(folder / "output_0.pb") || fs::exists(folder / "inputs.npz");
}

Case read_case(const fs::path& folder, const Model& model) {
  Case one{folder.filename().string(), read_data_side(folder, "input", model.inputs()),
           read_data_side(folder, "output", model.outputs())};
  for (std::size_t i = 0; i < one.inputs.size(); ++i)
    if (one.inputs[i].dtype() == DType::undefined)
      throw Error(ErrorCode::invalid_input,
                  fmt::format("'{}' has no value of input {} ('{}')", folder.string(), i, model.inputs()[i].name));
  return one;
}

std::vector<Case> read_data(const std::string& data, const Model& model) {
  std::error_code error;
  if (!fs::is_directory(data, error))
    throw Error(ErrorCode::invalid_input, fmt::format("cannot read '{}': not a folder", data));
  std::vector<fs::path> folders;
  if (holds_data(data)) folders.push_back(fs::path(data) / "");
  for (const auto& item : fs::directory_iterator(data))
    if (item.path().filename().string().starts_with("test_data_set_")) folders.push_back(item.path());
  std::sort(folders.begin(), folders.end());
  std::vector<Case> cases;
  for (const fs::path& folder : folders) cases.push_back(read_case(folder, model));
  if (cases.empty())
    throw Error(ErrorCode::invalid_input,
                fmt::format("'{}' has no input_0.pb, inputs.npz or test_data_set_* folder", data));
  return cases;
}

std::vector<Case> collect_cases(const CheckOptions& options, const Model& model) {
  if (!options.data.empty()) return read_data(options.data, model);
  std::vector<Case> cases;
  cases.push_back({"", gather_inputs(model, options.input, options.shape),
                   read_assigned(model.outputs(), options.expected, "output")});
  return cases;
}

bool expects_nothing(const Case& one) {
  return std::all_of(one.expected.begin(), one.expected.end(),
                     [](const Tensor& t) { return t.dtype() == DType::undefined; });
}

std::string island_text(const Json& description) {
  const Json& islands = array_in(description, "islands");
  if (islands.empty()) return "islands: none\n";
  Table table;
  table.rows.push_back({"island", "operator", "engine", "reason"});
  for (const Json& island : islands)
    table.rows.push_back(
        {text_in(island, "node"), text_in(island, "op"), text_in(island, "engine"), text_in(island, "reason")});
  return fmt::format("islands: {}\n{}", islands.size(), table.text());
}

Tolerance chosen_tolerance(const CheckOptions& options, DType dtype) {
  Tolerance tolerance = tolerance_of(dtype, options.engine.math == "exact" ? Math::exact : Math::fast);
  if (options.absolute_tolerance >= 0) tolerance.absolute = options.absolute_tolerance;
  if (options.relative_tolerance >= 0) tolerance.relative = options.relative_tolerance;
  return tolerance;
}

bool compare_outputs(const CheckOptions& options, const Model& model, const Case& one, std::span<const Tensor> found,
                     Table& table) {
  bool good = true;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (one.expected[i].dtype() == DType::undefined) continue;
    const Comparison result = compare(found[i], one.expected[i], chosen_tolerance(options, one.expected[i].dtype()));
    good = good && result.equal;
    const std::string name = one.name.empty() ? model.outputs()[i].name : one.name + "/" + model.outputs()[i].name;
    table.rows.push_back({name, fmt::format("{} {}", name_of(found[i].dtype()), shape_text(found[i].shape())),
                          fmt::format("{:.3g}", result.largest_difference), fmt::format("{:.3g}", result.largest_share),
                          result.equal ? "PASS"
                                       : fmt::format("FAIL {} of {} wrong: {}", result.wrong_elements, found[i].size(),
                                                     result.mismatch)});
  }
  return good;
}

/// Every schedule and thread count against the first run, bit by bit.
bool compare_schedules(const CheckOptions& options, std::span<const TensorView> inputs, std::span<const Tensor> first,
                       const std::string& name, int threads, Table& table) {
  bool good = true;
  for (const char* schedule : {"columns", "layers"})
    for (const int count : {1, threads}) {
      EngineOptions engine = options.engine;
      engine.schedule = schedule;
      const Model model = open_model(engine, library_options(engine, count));
      Session session(model);
      const std::vector<Tensor> found = session.run(inputs);
      const bool equal = std::equal(found.begin(), found.end(), first.begin(), first.end(), identical);
      good = good && equal;
      table.rows.push_back({name.empty() ? "bits" : name + "/bits",
                            fmt::format("{}, {} thread{}", schedule, count, count == 1 ? "" : "s"), "", "",
                            equal ? "PASS" : "FAIL differs from the first run"});
      if (threads == 1) break;
    }
  return good;
}

}  // namespace

int execute(const CheckOptions& options, std::string& out) {
  const Model model = open_model(options.engine);
  std::vector<Case> cases = collect_cases(options, model);
  const ShapeMap shapes =
      options.data.empty() ? shape_overrides(model.inputs(), cases[0].inputs, options.shape) : ShapeMap();
  if (!options.quiet) out += island_text(parse_json(model.describe(shapes)));
  Session session(model);
  Table table;
  table.right = {2, 3};
  table.rows.push_back({"output", "type", "largest error", "of tolerance", "verdict"});
  bool good = true;
  Progress progress("check", !options.quiet);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    progress.update(static_cast<double>(i) / static_cast<double>(cases.size()));
    const std::vector<TensorView> inputs = views_of(cases[i].inputs);
    const std::vector<Tensor> found = session.run(inputs);
    if (expects_nothing(cases[i])) cases[i].expected = model.evaluate_reference(inputs);
    good = compare_outputs(options, model, cases[i], found, table) && good;
    if (options.schedules)
      good = compare_schedules(options, inputs, found, cases[i].name, session.stats().threads, table) && good;
  }
  if (!options.quiet) out += table.text("");
  out += good ? "PASS\n" : "FAIL\n";
  return good ? kGood : kFailed;
}

}  // namespace colonnade::cli
