// SPDX-License-Identifier: Apache-2.0
// Real models and ONNX's own conformance data, when the folder of shared data is there.
#include <utility>

#include "evaluate.hpp"
#include "support/onnx_cases.hpp"

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
  const fs::path folder = test::shared_folder() / "models";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no shared models";
  for (const auto& [kind, least] :
       {std::pair("vision", 29), {"tabular", 8}, {"audio", 9}, {"text", 11}, {"quantized", 6}})
    import_folder(folder / kind, static_cast<std::size_t>(least));
}

TEST(Conformance, TheLightModelsImport) {
  const test::OnnxCases cases;
  if (!cases.available()) GTEST_SKIP() << "no conformance data";
  import_folder(cases.data() / "light", 9);
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
