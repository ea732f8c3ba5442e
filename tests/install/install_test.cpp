// SPDX-License-Identifier: Apache-2.0
// Installs the build to a temporary prefix and builds a project outside the tree against it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/process.hpp"

namespace colonnade {
namespace {

using test::ProcessResult;
using test::run_process;
using test::shell_word;

const std::string kConsumer = COLONNADE_SOURCE_DIR "/tests/install/consumer";

/// One prefix for all tests of the suite.
class Install : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::filesystem::path(testing::TempDir()) / ("colonnade-install-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const ProcessResult result =
        run_process("cmake --install " + shell_word(COLONNADE_BINARY_DIR) + " --prefix " + shell_word(prefix()));
    ASSERT_EQ(result.status, 0) << result.output;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }

  static std::string folder() { return folder_.string(); }
  static std::string prefix() { return (folder_ / "prefix").string(); }
  /// The one installed file of that name, anywhere below the prefix.
  static std::string installed(const std::string& name) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "prefix")) {
      if (entry.path().filename() == name) return entry.path().string();
    }
    ADD_FAILURE() << name << " is not installed";
    return {};
  }
  static std::string sanitize_flags() {
    const std::string sanitizers = COLONNADE_SANITIZERS;
    return sanitizers.empty() ? "" : "-fsanitize=" + sanitizers;
  }

 private:
  static inline std::filesystem::path folder_;
};

void expect_inputs(const ProcessResult& result) {
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_NE(result.output.find("input "), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("float32"), std::string::npos) << result.output;
}

class InstallCMake : public Install, public testing::WithParamInterface<const char*> {};

TEST_P(InstallCMake, ConsumerBuildsAndRuns) {
  const std::string build = folder() + "/build-" + GetParam();
  const ProcessResult configured = run_process(
      "cmake -S " + shell_word(kConsumer) + " -B " + shell_word(build) + " -DLIBRARY=" + GetParam() +
      " -DCMAKE_PREFIX_PATH=" + shell_word(prefix()) + " -DCMAKE_CXX_COMPILER=" + shell_word(COLONNADE_CXX_COMPILER) +
      " -DCMAKE_CXX_FLAGS=" + shell_word(sanitize_flags()));
  ASSERT_EQ(configured.status, 0) << configured.output;
  const ProcessResult built = run_process("cmake --build " + shell_word(build));
  ASSERT_EQ(built.status, 0) << built.output;
  expect_inputs(run_process(shell_word(build + "/consumer")));
}

INSTANTIATE_TEST_SUITE_P(Libraries, InstallCMake, testing::Values("shared", "static"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_F(Install, ConsumerBuildsAndRunsByPkgConfig) {
  const std::string pc_folder = std::filesystem::path(installed("colonnade.pc")).parent_path().string();
  const std::string library_folder = std::filesystem::path(installed("libcolonnade.so")).parent_path().string();
  const std::string program = folder() + "/by-pkg-config";
  const ProcessResult built = run_process(
      "export PKG_CONFIG_PATH=" + shell_word(pc_folder) + "; " + shell_word(COLONNADE_CXX_COMPILER) + " -std=c++20 " +
      sanitize_flags() + " " + shell_word(kConsumer + "/main.cpp") + " -o " + shell_word(program) +
      " $(pkg-config --cflags --libs colonnade) -Wl,-rpath," + shell_word(library_folder));
  ASSERT_EQ(built.status, 0) << built.output;
  expect_inputs(run_process(shell_word(program)));
}

TEST_F(Install, CommandLineToolRuns) {
  const ProcessResult result = run_process(shell_word(installed("bin") + "/colonnade") + " --version");
  EXPECT_EQ(result.status, 0) << result.output;
}

TEST_F(Install, SharedLibraryLeaksNoDependency) {
  const ProcessResult result =
      run_process("grep -niE 'protobuf|hwloc|dnnl|onnx|fmt|OpenMP' " + shell_word(installed("colonnade-shared.cmake")));
  EXPECT_EQ(result.status, 1) << result.output;
}

TEST_F(Install, PackageFilesNameNoPathOfTheBuild) {
  const ProcessResult result =
      run_process("grep -rnF -e " + shell_word(COLONNADE_SOURCE_DIR) + " -e " + shell_word(prefix()) +
                  " --include='*.cmake' --include='*.pc' --include='*.hpp' " + shell_word(prefix()));
  EXPECT_EQ(result.status, 1) << result.output;
}

}  // namespace
}  // namespace colonnade
