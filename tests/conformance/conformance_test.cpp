// SPDX-License-Identifier: Apache-2.0
// ONNX's own conformance cases through the engine and through the reference. Prints a table of what passed, failed or
// was refused, and why.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "api/impl.hpp"
#include "frontends/cli/compare.hpp"
#include "support/onnx_cases.hpp"

namespace colonnade {
namespace {

namespace fs = std::filesystem;

/// The folders of one suite's cases ("node", "simple", ...), sorted by name.
std::vector<fs::path> suite_of(const std::vector<fs::path>& models, const std::string& name) {
  std::vector<fs::path> cases;
  for (const fs::path& model : models) {
    if (model.parent_path().parent_path().filename() == name) cases.push_back(model.parent_path());
  }
  return cases;
}

std::vector<std::byte> bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

/// The stored data of inputs or outputs, in their order: as many as there are files.
std::vector<Datum> data_of(const fs::path& folder, const std::string& prefix, std::span<const TensorInfo> infos) {
  std::vector<Datum> data;
  for (const TensorInfo& info : infos) {
    const fs::path path = folder / (prefix + "_" + std::to_string(data.size()) + ".pb");
    if (!fs::exists(path)) break;
    data.push_back(Datum::from_onnx(bytes_of(path), info.containers));
  }
  return data;
}

/// "" when the tensors agree as `colonnade check` has it; tighter for half precision.
std::string difference(const Tensor& found, const Tensor& expected) {
  const bool is_half = expected.dtype() == DType::f16 || expected.dtype() == DType::bf16;
  return cli::compare(found, expected, cli::tolerance_of(is_half ? DType::f32 : expected.dtype(), Math::exact))
      .mismatch;
}

/// What is in an optional datum that is present.
const Datum& unwrapped(const Datum& datum) {
  const bool is_present = datum.kind() == Datum::Kind::optional && !datum.elements().empty();
  return is_present ? datum.elements().front() : datum;
}

std::string difference(const Datum& found, const Datum& expected) {
  const Datum &x = unwrapped(found), &y = unwrapped(expected);
  if (x.kind() != y.kind()) return "another kind of data";
  if (x.is_tensor()) return difference(x.tensor(), y.tensor());
  if (x.kind() == Datum::Kind::map) {
    const std::string keys = difference(x.keys(), y.keys());
    return keys.empty() ? difference(x.tensor(), y.tensor()) : "keys: " + keys;
  }
  if (x.elements().size() != y.elements().size()) return std::to_string(x.elements().size()) + " elements";
  for (std::size_t i = 0; i < x.elements().size(); ++i) {
    const std::string text = difference(x.elements()[i], y.elements()[i]);
    if (!text.empty()) return "element " + std::to_string(i) + ": " + text;
  }
  return "";
}

enum class Verdict { passed, failed, refused };
struct Outcome {
  Verdict verdict = Verdict::passed;
  std::string detail;
};

/// Cases whose values are random: only types and shapes can agree.
bool is_random(const std::string& name) {
  constexpr std::string_view kRandom[] = {"test_bernoulli", "test_training_dropout", "test_random", "test_multinomial"};
  return !name.starts_with("test_training_dropout_zero_ratio") &&
         std::any_of(std::begin(kRandom), std::end(kRandom), [&](auto prefix) { return name.starts_with(prefix); });
}

std::string type_difference(const Datum& found, const Datum& expected) {
  const bool same = found.is_tensor() && expected.is_tensor() && found.dtype() == expected.dtype() &&
                    found.tensor().shape() == expected.tensor().shape();
  return same ? "" : "another type or shape";
}

std::string compare(const std::vector<Datum>& found, const std::vector<Datum>& expected, bool random) {
  if (found.size() != expected.size()) return "outputs differ in number";
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string text = random ? type_difference(found[i], expected[i]) : difference(found[i], expected[i]);
    if (!text.empty()) return "output " + std::to_string(i) + ": " + text;
  }
  return "";
}

/// The engine's answer, that of a load from a compiled file, and the reference's.
Outcome run_case(const fs::path& folder) {
  try {
    Options options;
    options.threads = 1;
    options.compiled = (folder / "compiled").string();
    const Model model = Model::load((folder / "model.onnx").string(), options);
    Session session(model);
    int sets = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (!entry.is_directory()) continue;
      ++sets;
      const std::vector<Datum> expected = data_of(entry.path(), "output", model.outputs());
      const std::vector<Datum> inputs = data_of(entry.path(), "input", model.inputs());
      if (inputs.size() != model.inputs().size()) return {Verdict::failed, "inputs differ in number"};
      const bool random = is_random(folder.filename().string());
      const std::string engine = compare(session.run_data(inputs), expected, random);
      if (!engine.empty()) return {Verdict::failed, engine};
      const Model loaded = Model::load((folder / "model.onnx").string(), options);
      if (!loaded.impl()->compiled->is_loaded())
        return {Verdict::failed, "its compiled file is of no use: " + loaded.impl()->compiled->reason()};
      const std::string again = compare(Session(loaded).run_data(inputs), expected, random);
      if (!again.empty()) return {Verdict::failed, "from a compiled file: " + again};
      const std::string reference = compare(model.evaluate_reference(inputs), expected, random);
      if (!reference.empty()) return {Verdict::failed, "reference: " + reference};
    }
    return sets > 0 ? Outcome{} : Outcome{Verdict::failed, "has no data"};
  } catch (const Error& error) {
    return {error.code() == ErrorCode::unsupported ? Verdict::refused : Verdict::failed, error.what()};
  }
}

/// Cases that are known not to pass, with the reason: lines of "name: reason".
std::map<std::string, std::string> known_refusals() {
  std::map<std::string, std::string> cases;
  std::ifstream file(fs::path(COLONNADE_SOURCE_DIR) / "tests" / "conformance" / "refused.txt");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("#") && colon != std::string::npos) cases[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return cases;
}

struct Counts {
  int passed = 0, failed = 0, refused = 0;
  int typed = 0;  ///< of those that passed, compared by types and shapes only

  Counts& operator+=(const Counts& other) {
    passed += other.passed, failed += other.failed, refused += other.refused, typed += other.typed;
    return *this;
  }
  void print(const char* name) const { std::printf("%-20s %8d %8d %8d %12d\n", name, passed, failed, refused, typed); }
};

Counts run_suite(const std::vector<fs::path>& folders, const std::map<std::string, std::string>& known,
                 std::vector<std::string>& refusals) {
  Counts counts;
  for (const fs::path& path : folders) {
    const std::string name = path.filename().string();
    const Outcome outcome = run_case(path);
    const bool is_known = known.contains(name);
    if (outcome.verdict == Verdict::passed) {
      ++counts.passed;
      if (is_random(name)) ++counts.typed;
      if (is_known) ADD_FAILURE() << name << " passes: it is no refusal any more";
      continue;
    }
    ++(outcome.verdict == Verdict::refused ? counts.refused : counts.failed);
    refusals.push_back(name + ": " + (is_known ? known.at(name) : outcome.detail));
    if (!is_known) ADD_FAILURE() << name << ": " << outcome.detail;
  }
  return counts;
}

TEST(Conformance, OnnxCasesPassOrAreKnownRefusals) {
  const test::OnnxCases unpacked;
  if (!unpacked.available()) GTEST_SKIP() << "ONNX's test data are not there";
  const std::map<std::string, std::string> known = known_refusals();
  const std::vector<fs::path> models = unpacked.models();
  std::vector<std::string> refusals;
  Counts sum;
  std::printf("%-20s %8s %8s %8s %12s\n", "suite", "passed", "failed", "refused", "of types");
  for (const char* suite : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    const Counts counts = run_suite(suite_of(models, suite), known, refusals);
    counts.print(suite);
    sum += counts;
  }
  sum.print("sum");
  std::printf("of types: passed, but their values are random; only types and shapes were compared\n");
  for (const std::string& line : refusals) std::printf("  %s\n", line.c_str());
  EXPECT_GT(sum.passed, 0);
}

}  // namespace
}  // namespace colonnade
