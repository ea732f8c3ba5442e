// SPDX-License-Identifier: Apache-2.0
// Real models and ONNX's own conformance data, when the folder of shared data is there.
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include "evaluate.hpp"

namespace colonnade::onnx_import::testing {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void import_folder(const fs::path& folder, std::size_t least) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().filename().string());
    EXPECT_NO_THROW({
      const Graph graph = import_file(entry.path().string());
      verify(graph);
      EXPECT_FALSE(graph.outputs.empty());
    });
    ++count;
  }
  EXPECT_GE(count, least);
}

TEST(Models, EveryVisionModelImports) {
  const fs::path folder = shared_folder() / "models" / "vision";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no shared models";
  import_folder(folder, 29);
}

TEST(Models, EveryTabularModelImports) {
  const fs::path folder = shared_folder() / "models" / "tabular";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no shared models";
  import_folder(folder, 8);
}

/// ONNX's backend test data, unpacked once a process.
class Conformance : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path archive = shared_folder() / "onnx-backend-tests.tar.xz";
    if (shared_folder().empty() || !fs::exists(archive)) GTEST_SKIP() << "no conformance data";
    static const TemporaryFolder unpacked;
    static const int status =
        std::system(fmt::format("tar -xJf '{}' -C '{}'", archive.string(), unpacked.path().string()).c_str());
    ASSERT_EQ(status, 0);
    data_ = unpacked.path() / "onnx" / "backend" / "test" / "data";
  }

  fs::path data_;
};

TEST_F(Conformance, TheLightModelsImport) { import_folder(data_ / "light", 9); }

double element(const Tensor& tensor, std::size_t index) {
  switch (tensor.dtype()) {
    case DType::f32: return tensor.values<float>()[index];
    case DType::f64: return tensor.values<double>()[index];
    case DType::i8: return tensor.values<std::int8_t>()[index];
    case DType::i16: return tensor.values<std::int16_t>()[index];
    case DType::i32: return tensor.values<std::int32_t>()[index];
    case DType::i64: return static_cast<double>(tensor.values<std::int64_t>()[index]);
    case DType::u8:
    case DType::boolean: return tensor.values<std::uint8_t>()[index];
    case DType::u16: return tensor.values<std::uint16_t>()[index];
    case DType::u32: return tensor.values<std::uint32_t>()[index];
    case DType::u64: return static_cast<double>(tensor.values<std::uint64_t>()[index]);
    default: break;
  }
  return 0;
}

/// 16-bit floats as float32, so that they compare by value.
Tensor widened(Tensor tensor) {
  if (tensor.dtype() != DType::f16 && tensor.dtype() != DType::bf16) return tensor;
  const Node node{Cast{DType::f32}, {0}, {1}, "widen", "Cast"};
  const Tensor* input = &tensor;
  return std::move(reference::evaluate(node, {&input, 1}).front());
}

/// "" when equal within the tolerance of ONNX's runner; 16-bit types by their precision.
std::string difference(const Tensor& actual, const Tensor& expected) {
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape()) {
    return fmt::format("found {}[{}], expected {}[{}]", name_of(actual.dtype()), fmt::join(actual.shape(), ","),
                       name_of(expected.dtype()), fmt::join(expected.shape(), ","));
  }
  if (actual.dtype() == DType::string) return actual.strings() == expected.strings() ? "" : "strings differ";
  const double relative = actual.dtype() == DType::bf16 ? 2e-2 : actual.dtype() == DType::f16 ? 5e-3 : 1e-3;
  const double absolute = relative > 1e-3 ? 1e-3 : 1e-6;
  const Tensor a = widened(actual), b = widened(expected);
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.size()); ++i) {
    const double x = element(a, i), y = element(b, i);
    const bool same =
        x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= absolute + relative * std::abs(y);
    if (!same) return fmt::format("element {} is {}, expected {}", i, x, y);
  }
  return "";
}

enum class Verdict { passed, unsupported };

/// Imports, evaluates and compares one case; throws Error when it is refused.
Verdict run_case(const fs::path& folder) {
  try {
    const Graph graph = import_file((folder / "model.onnx").string());
    verify(graph);
    const fs::path data = folder / "test_data_set_0";
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const std::string bytes = read_file(data / fmt::format("input_{}.pb", i));
      inputs.push_back(parse_tensor(as_bytes(bytes)));
    }
    const std::vector<TensorView> views(inputs.begin(), inputs.end());
    const auto outputs = reference::evaluate(graph, views);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string bytes = read_file(data / fmt::format("output_{}.pb", i));
      EXPECT_EQ(difference(outputs[i], parse_tensor(as_bytes(bytes))), "") << "output " << i;
    }
    return Verdict::passed;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    return Verdict::unsupported;
  }
}

/// No case may fail; those outside of this build's operators and types are refused as unsupported.
void run_cases(const fs::path& folder, int least_passed) {
  int passed = 0, unsupported = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!fs::exists(entry.path() / "model.onnx")) continue;
    SCOPED_TRACE(entry.path().filename().string());
    (run_case(entry.path()) == Verdict::passed ? passed : unsupported) += 1;
  }
  std::cout << folder.filename().string() << ": " << passed << " passed, " << unsupported << " unsupported\n";
  EXPECT_GE(passed, least_passed);
}

TEST_F(Conformance, NodeCases) { run_cases(data_ / "node", 1180); }
TEST_F(Conformance, SimpleCases) { run_cases(data_ / "simple", 7); }

}  // namespace
}  // namespace colonnade::onnx_import::testing
