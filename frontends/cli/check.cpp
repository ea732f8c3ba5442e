// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>

#include "commands.hpp"
#include "compare.hpp"
#include "files.hpp"
#include "frontends/quantize/quantize.hpp"
#include "model_io.hpp"
#include "process.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

namespace fs = std::filesystem;

using Given = std::vector<std::optional<Datum>>;

/// Inputs and what must come out; what is not given is not compared.
struct Case {
  std::string name;
  std::vector<Datum> inputs;
  Given expected;
};

Datum read_datum(const fs::path& file, const TensorInfo& info, std::string& name) {
  try {
    return Datum::from_onnx(read_file(file.string()), info.containers, &name);
  } catch (const Error& failure) {
    throw Error(failure.code(), fmt::format("'{}': {}", file.string(), failure.what()));
  }
}

/// FOLDER/PREFIX_0.pb, _1.pb, ... as far as they go.
Given read_numbered(const fs::path& folder, const std::string& prefix, std::span<const TensorInfo> infos) {
  Given data(infos.size());
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const fs::path file = folder / fmt::format("{}_{}.pb", prefix, i);
    if (!fs::exists(file)) continue;
    std::string name;
    Datum datum = read_datum(file, infos[i], name);
    // the name in a file counts more than its number
    const auto named =
        std::find_if(infos.begin(), infos.end(), [&](const TensorInfo& info) { return info.name == name; });
    const bool is_known = named != infos.end() && named->containers == infos[i].containers;
    data[is_known ? static_cast<std::size_t>(named - infos.begin()) : i] = std::move(datum);
  }
  return data;
}

Given given_of(std::vector<Tensor> tensors) {
  Given data(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].dtype() != DType::undefined) data[i] = Datum(std::move(tensors[i]));
  return data;
}

Given read_data_side(const fs::path& folder, const std::string& side, std::span<const TensorInfo> infos) {
  const fs::path archive = folder / (side + "s.npz");
  if (!fs::exists(archive)) return read_numbered(folder, side, infos);
  std::vector<Tensor> tensors(infos.size());
  for (NamedTensor& item : parse_npz(read_file(archive.string()), archive.string()))
    tensors[find_name(infos, item.name, side.c_str())] = std::move(item.tensor);
  return given_of(std::move(tensors));
}

bool holds_data(const fs::path& folder) {
  return fs::exists(folder / "input_0.pb") || fs::exists(folder / "output_0.pb") || fs::exists(folder / "inputs.npz");
}

Case read_case(const fs::path& folder, const Model& model) {
  Case one{folder.filename().string(), {}, read_data_side(folder, "output", model.outputs())};
  Given inputs = read_data_side(folder, "input", model.inputs());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i])
      throw Error(ErrorCode::invalid_input,
                  fmt::format("'{}' has no value of input {} ('{}')", folder.string(), i, model.inputs()[i].name));
    one.inputs.push_back(*std::move(inputs[i]));
  }
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
  std::vector<Tensor> inputs = gather_inputs(model, options.input, options.shape);
  cases.push_back({"",
                   {std::make_move_iterator(inputs.begin()), std::make_move_iterator(inputs.end())},
                   given_of(read_assigned(model.outputs(), options.expected, "output"))});
  return cases;
}

/// The tensors among the data, undefined ones for others.
std::vector<Tensor> tensors_of(std::span<const Datum> data) {
  std::vector<Tensor> tensors;
  for (const Datum& datum : data) tensors.push_back(datum.is_tensor() ? datum.tensor() : Tensor());
  return tensors;
}

bool expects_nothing(const Case& one) {
  return std::none_of(one.expected.begin(), one.expected.end(), [](const auto& given) { return given.has_value(); });
}

std::string islands_and_count(const Json& description) {
  const Json& islands = array_in(description, "islands");
  if (islands.empty()) return "islands: none\n";
  Table table;
  table.rows.push_back({"island", "operator", "engine", "reason"});
  for (const Json& island : islands)
    table.rows.push_back(
        {text_in(island, "node"), text_in(island, "op"), text_in(island, "engine"), text_in(island, "reason")});
  return fmt::format("islands: {}\n{}", islands.size(), table.text());
}

/// Why a model may differ from its own floats: products whose rows it lets be rounded.
std::string rounded_rows_note(const Json& description) {
  std::size_t count = 0;
  for (const Json& segment : array_in(description, "segments"))
    for (const Json& node : array_in(segment, "operators"))
      count += text_in(node, "kernel") == "narrow_bytes" || text_in(node, "kernel") == "grouped_bytes" ? 1 : 0;
  if (count == 0) return {};
  return fmt::format(
      "note: {} product{} round{} rows to int8, as the model's accuracy_level allows; --math exact does not\n", count,
      count == 1 ? "" : "s", count == 1 ? "s" : "");
}

Tolerance chosen_tolerance(const CheckOptions& options, DType dtype) {
  Tolerance tolerance = tolerance_of(dtype, math_of(options.engine));
  if (options.absolute_tolerance >= 0) tolerance.absolute = options.absolute_tolerance;
  if (options.relative_tolerance >= 0) tolerance.relative = options.relative_tolerance;
  return tolerance;
}

/// Compares one output, elements of sequences and of optionals one by one; a line of the table a tensor.
bool compare_data(const CheckOptions& options, const Datum& found, const Datum& expected, const std::string& name,
                  Table& table) {
  constexpr std::string_view kKinds[] = {"tensor", "sequence", "optional", "map"};
  const auto kind_of = [&](const Datum& datum) { return kKinds[static_cast<std::size_t>(datum.kind())]; };
  if (found.kind() != expected.kind() || found.elements().size() != expected.elements().size()) {
    table.rows.push_back({name, std::string(kind_of(found)), "", "", "",
                          fmt::format("FAIL a {} of {}, expected a {} of {}", kind_of(found), found.elements().size(),
                                      kind_of(expected), expected.elements().size())});
    return false;
  }
  bool good = true;
  for (std::size_t i = 0; i < found.elements().size(); ++i)
    good = compare_data(options, found.elements()[i], expected.elements()[i], fmt::format("{}[{}]", name, i), table) &&
           good;
  if (found.kind() == Datum::Kind::map)
    good = compare_data(options, Datum(found.keys()), Datum(expected.keys()), name + " keys", table);
  if (found.kind() == Datum::Kind::sequence || found.kind() == Datum::Kind::optional) {
    if (found.elements().empty()) table.rows.push_back({name, std::string(kind_of(found)), "", "", "", "PASS"});
    return good;
  }
  const Tensor &x = found.tensor(), &y = expected.tensor();
  const Comparison result = compare(x, y, chosen_tolerance(options, y.dtype()));
  table.rows.push_back(
      {name, fmt::format("{} {}", name_of(x.dtype()), shape_text(x.shape())),
       fmt::format("{:.3g}", result.largest_difference), fmt::format("{:.3g}", result.mean_difference),
       fmt::format("{:.3g}", result.largest_share),
       result.equal ? "PASS"
                    : fmt::format("FAIL {} of {} wrong: {}", result.wrong_elements, x.size(), result.mismatch)});
  return good && result.equal;
}

bool compare_outputs(const CheckOptions& options, const Model& model, const Case& one, std::span<const Datum> found,
                     Table& table) {
  bool good = true;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!one.expected[i]) continue;
    const std::string& output = model.outputs()[i].name;
    good =
        compare_data(options, found[i], *one.expected[i], one.name.empty() ? output : one.name + "/" + output, table) &&
        good;
  }
  return good;
}

bool identical_data(const Datum& a, const Datum& b) {
  if (a.kind() != b.kind() || a.elements().size() != b.elements().size()) return false;
  if (a.kind() == Datum::Kind::map && !identical(a.keys(), b.keys())) return false;
  if (a.is_tensor() || a.kind() == Datum::Kind::map) return identical(a.tensor(), b.tensor());
  return std::equal(a.elements().begin(), a.elements().end(), b.elements().begin(), identical_data);
}

/// Every schedule and thread count against the first run, bit by bit.
bool compare_schedules(const CheckOptions& options, std::span<const Datum> inputs, std::span<const Datum> first,
                       const std::string& name, int threads, Table& table) {
  bool good = true;
  for (const char* schedule : {"columns", "layers"})
    for (const int count : {1, threads}) {
      EngineOptions engine = options.engine;
      engine.schedule = schedule;
      const Model model = open_model(engine, library_options(engine, count));
      Session session(model);
      const std::vector<Datum> found = session.run_data(inputs);
      const bool equal = std::equal(found.begin(), found.end(), first.begin(), first.end(), identical_data);
      good = good && equal;
      table.rows.push_back({name.empty() ? "bits" : name + "/bits",
                            fmt::format("{}, {} thread{}", schedule, count, count == 1 ? "" : "s"), "", "", "",
                            equal ? "PASS" : "FAIL differs from the first run"});
      if (threads == 1) break;
    }
  return good;
}

/// Errors against the same run in float32, a layer at a time.
std::string layers_text(const CheckOptions& options, std::span<const Datum> inputs) {
  EngineOptions floats = options.engine;
  floats.math = "fast";
  Table table;
  table.right = {2, 3, 4, 5};
  table.rows.push_back({"layer", "type", "largest value", "largest error", "mean error", "of the largest value"});
  for (const quantize::LayerError& layer : quantize::layer_errors(
           options.engine.model, tensors_of(inputs), library_options(options.engine, options.engine.threads),
           library_options(floats, options.engine.threads)))
    table.rows.push_back({layer.node, layer.op, fmt::format("{:.3g}", layer.largest_value),
                          fmt::format("{:.3g}", layer.largest), fmt::format("{:.3g}", layer.mean),
                          fmt::format("{:.2g}", layer.largest / std::max(layer.largest_value, 1e-30))});
  return "\n" + table.text("");
}

}  // namespace

int execute(const CheckOptions& options, std::string& out) {
  if (options.layers && options.engine.model.starts_with("embedded:"))
    throw Error(ErrorCode::invalid_argument, "--layers reads a file; models embedded in the library are none");
  const Model model = open_model(options.engine);
  std::vector<Case> cases = collect_cases(options, model);
  const ShapeMap shapes =
      options.data.empty() ? shape_overrides(model.inputs(), tensors_of(cases[0].inputs), options.shape) : ShapeMap();
  const Json description = options.quiet ? Json() : parse_json(model.describe(shapes));
  if (!options.quiet) out += islands_and_count(description);
  Session session(model);
  Table table;
  table.right = {2, 3, 4};
  table.rows.push_back({"output", "type", "largest error", "mean error", "of tolerance", "verdict"});
  bool good = true;
  Progress progress("check", !options.quiet);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    progress.update(static_cast<double>(i) / static_cast<double>(cases.size()));
    const std::vector<Datum>& inputs = cases[i].inputs;
    const std::vector<Datum> found = session.run_data(inputs);
    if (expects_nothing(cases[i])) {
      const std::vector<Datum> expected = model.evaluate_reference(inputs);
      cases[i].expected.assign(expected.begin(), expected.end());
    }
    good = compare_outputs(options, model, cases[i], found, table) && good;
    if (options.schedules)
      good = compare_schedules(options, inputs, found, cases[i].name, session.stats().threads, table) && good;
  }
  if (!options.quiet) out += table.text("");
  if (options.layers) out += layers_text(options, cases[0].inputs);
  if (!good && !options.quiet) out += rounded_rows_note(description);
  out += good ? "PASS\n" : "FAIL\n";
  return good ? kGood : kFailed;
}

}  // namespace colonnade::cli
