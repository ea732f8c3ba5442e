// SPDX-License-Identifier: Apache-2.0
// ONNX's own conformance cases: import, evaluate, compare with the stored outputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "frontends/onnx/onnx.hpp"
#include "reference/elements.hpp"
#include "reference/reference.hpp"

namespace colonnade {
namespace {

namespace fs = std::filesystem;

fs::path shared_folder() {
  const char* named = std::getenv("COLONNADE_SHARED");
  return named != nullptr ? fs::path(named) : fs::path(COLONNADE_SOURCE_DIR) / ".." / "shared";
}

/// ONNX's test data, unpacked into a temporary folder while this lives; empty where there is no archive.
class UnpackedCases {
 public:
  UnpackedCases() {
    const fs::path archive = shared_folder() / "onnx-backend-tests.tar.xz";
    if (!fs::exists(archive)) return;
    std::string folder = (fs::temp_directory_path() / "colonnade_onnx_XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return;
    root_ = folder;
    const std::string command = "tar -xJf '" + archive.string() + "' -C '" + folder + "'";
    available_ = std::system(command.c_str()) == 0;
  }
  UnpackedCases(const UnpackedCases&) = delete;
  UnpackedCases& operator=(const UnpackedCases&) = delete;
  ~UnpackedCases() {
    if (!root_.empty()) fs::remove_all(root_);
  }

  bool available() const { return available_; }
  /// The folders of one suite's cases ("node", "simple", ...), sorted by name.
  std::vector<fs::path> suite(const std::string& name) const {
    std::vector<fs::path> cases;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      if (entry.path().filename() == "model.onnx" && entry.path().parent_path().parent_path().filename() == name) {
        cases.push_back(entry.path().parent_path());
      }
    }
    std::sort(cases.begin(), cases.end());
    return cases;
  }

 private:
  fs::path root_;
  bool available_ = false;
};

std::vector<std::byte> bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

/// The stored data of the graph's values, in their order: as many as there are files.
std::vector<Datum> data_of(const fs::path& folder, const std::string& prefix, const Graph& graph,
                           const std::vector<ValueId>& ids) {
  std::vector<Datum> data;
  for (const ValueId id : ids) {
    const fs::path path = folder / (prefix + "_" + std::to_string(data.size()) + ".pb");
    if (!fs::exists(path)) break;
    data.push_back(onnx_import::parse_datum(bytes_of(path), graph.value(id).type.containers));
  }
  return data;
}

/// Cases whose outputs are drawn: types and shapes are all that can agree.
bool is_drawn(const fs::path& folder) { return folder.filename().string().starts_with("test_bernoulli"); }

std::string other_type(const Tensor& found, const Tensor& expected) {
  if (found.dtype() != expected.dtype()) {
    return std::string(name_of(found.dtype())) + " instead of " + std::string(name_of(expected.dtype()));
  }
  return found.shape() == expected.shape() ? "" : "another shape";
}

/// "" when the tensors agree: rtol 1e-3, atol 1e-7 + 1e-5 max|expected|.
std::string difference(const Tensor& found, const Tensor& expected) {
  if (std::string text = other_type(found, expected); !text.empty()) return text;
  if (found.dtype() == DType::string) return found.strings() == expected.strings() ? "" : "other strings";
  const std::vector<double> x = reference::load_all<double>(found), y = reference::load_all<double>(expected);
  double peak = 0;
  for (const double value : y) peak = std::isfinite(value) ? std::max(peak, std::abs(value)) : peak;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (std::abs(x[i] - y[i]) <= 1e-7 + 1e-5 * peak + 1e-3 * std::abs(y[i])) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(x[i]) + ", expected " + std::to_string(y[i]);
  }
  return "";
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

std::vector<Datum> evaluate(const Graph& graph, const std::vector<Datum>& inputs) {
  std::vector<const Datum*> operands;
  for (const Datum& input : inputs) operands.push_back(&input);
  return reference::evaluate(graph, operands);
}

enum class Verdict { passed, failed, unsupported };
struct Outcome {
  Verdict verdict = Verdict::passed;
  std::string detail;
};

Outcome run_case(const fs::path& folder) {
  try {
    const Graph graph = onnx_import::import_file((folder / "model.onnx").string());
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (!entry.is_directory()) continue;
      const std::vector<Datum> expected = data_of(entry.path(), "output", graph, graph.outputs);
      const std::vector<Datum> inputs = data_of(entry.path(), "input", graph, graph.inputs);
      if (inputs.size() != graph.inputs.size()) return {Verdict::failed, "inputs differ in number"};
      const std::vector<Datum> found = evaluate(graph, inputs);
      if (found.size() != expected.size()) return {Verdict::failed, "outputs differ in number"};
      for (std::size_t i = 0; i < found.size(); ++i) {
        const std::string text =
            is_drawn(folder) ? other_type(found[i].tensor(), expected[i].tensor()) : difference(found[i], expected[i]);
        if (!text.empty()) return {Verdict::failed, "output " + std::to_string(i) + ": " + text};
      }
    }
    return {};
  } catch (const Error& error) {
    return {error.code() == ErrorCode::unsupported ? Verdict::unsupported : Verdict::failed, error.what()};
  }
}

/// Cases that ONNX's files decide otherwise than this project does, with the reason.
const std::map<std::string, std::string>& exceptions() {
  static const std::map<std::string, std::string> cases = {};
  return cases;
}

void run_suite(const UnpackedCases& unpacked, const std::string& suite) {
  std::map<Verdict, int> counts;
  const bool verbose = std::getenv("COLONNADE_VERBOSE") != nullptr;
  for (const fs::path& path : unpacked.suite(suite)) {
    const std::string name = path.filename().string();
    const Outcome outcome = run_case(path);
    ++counts[outcome.verdict];
    const bool excepted = exceptions().contains(name);
    if (outcome.verdict == Verdict::failed && !excepted) ADD_FAILURE() << name << ": " << outcome.detail;
    if (outcome.verdict == Verdict::passed && excepted) ADD_FAILURE() << name << " passes: no exception is needed";
    if (outcome.verdict == Verdict::unsupported && verbose) {
      std::printf("unsupported %s: %s\n", name.c_str(), outcome.detail.c_str());
    }
  }
  std::printf("%s: %d passed, %d failed, %d unsupported\n", suite.c_str(), counts[Verdict::passed],
              counts[Verdict::failed], counts[Verdict::unsupported]);
  EXPECT_GT(counts[Verdict::passed], 0) << suite;
}

TEST(Conformance, OnnxCasesPassOrAreRefused) {
  const UnpackedCases unpacked;
  if (!unpacked.available()) GTEST_SKIP() << "onnx-backend-tests.tar.xz is not in the shared folder";
  for (const char* suite : {"node", "simple", "pytorch-converted", "pytorch-operator"}) run_suite(unpacked, suite);
}

}  // namespace
}  // namespace colonnade
