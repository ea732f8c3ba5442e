// SPDX-License-Identifier: Apache-2.0
// Real models and ONNX's own conformance data, when the folder of shared data is there.
#include <utility>

#include "evaluate.hpp"

namespace colonnade::onnx_import::testing {
namespace {

namespace fs = std::filesystem;

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

TEST(Models, EveryModelImports) {
  const fs::path folder = shared_folder() / "models";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no shared models";
  for (const auto& [kind, least] :
       {std::pair("vision", 29), {"tabular", 8}, {"audio", 9}, {"text", 11}, {"quantized", 6}})
    import_folder(folder / kind, static_cast<std::size_t>(least));
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

}  // namespace
}  // namespace colonnade::onnx_import::testing
