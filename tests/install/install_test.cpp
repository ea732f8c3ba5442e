// SPDX-License-Identifier: Apache-2.0
// Installs the build to a temporary prefix and builds a project outside the tree against it.
#include "install/install.hpp"

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

namespace colonnade {
namespace {

using test::Install;
using test::ProcessResult;
using test::run_process;
using test::shell_word;

const std::string kConsumer = COLONNADE_SOURCE_DIR "/tests/install/consumer";

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

/// The libraries of a line that links: what follows `lib` up to the first point.
std::set<std::string> libraries_of(const std::string& link_file) {
  std::ifstream file(link_file);
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const std::regex library(R"(/lib(\w+)\.(so|a)\b|\s-l(\w+))");
  std::set<std::string> found;
  for (std::sregex_iterator at(line.begin(), line.end(), library), end; at != end; ++at)
    found.insert((*at)[1].matched ? (*at)[1] : (*at)[3]);
  return found;
}

/// Building the engine once more would take minutes: what can go wrong is how it is found.
class InstallSubproject : public Install, public testing::WithParamInterface<const char*> {};

TEST_P(InstallSubproject, IsConfiguredForTheEngineAlone) {
  const std::string source = COLONNADE_SOURCE_DIR, build = folder() + "/subproject-" + GetParam();
  const ProcessResult configured =
      run_process("cmake -G 'Unix Makefiles' -S " + shell_word(source + "/tests/install/subproject") + " -B " +
                  shell_word(build) + " -DSOURCE=" + shell_word(source) + " -DWAY=" + GetParam() +
                  " -DCMAKE_CXX_COMPILER=" + shell_word(COLONNADE_CXX_COMPILER));
  ASSERT_EQ(configured.status, 0) << configured.output;
  std::set<std::string> libraries;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(build))
    if (entry.path().string().ends_with("colonnade_shared.dir/link.txt")) libraries = libraries_of(entry.path());
  EXPECT_TRUE(libraries.contains("protobuf")) << "the file that links the library was not read";
  for (const char* allowed : {"dnnl", "gomp", "pthread", "hwloc", "onnx_proto", "protobuf"}) libraries.erase(allowed);
  EXPECT_TRUE(libraries.empty()) << "the engine alone needs " << *libraries.begin();
}

INSTANTIATE_TEST_SUITE_P(Ways, InstallSubproject, testing::Values("add_subdirectory", "fetch_content"),
                         [](const auto& parameter) { return std::string(parameter.param); });

/// The engine alone, with kernels for these tiers.
ProcessResult configure_tiers(const std::string& build, const std::string& tiers) {
  return run_process("cmake -G 'Unix Makefiles' -S " + shell_word(COLONNADE_SOURCE_DIR) + " -B " + shell_word(build) +
                     " -DCOLONNADE_TOOLS=OFF -DCOLONNADE_SERVER=OFF -DCOLONNADE_TIERS=" + shell_word(tiers) +
                     " -DCMAKE_CXX_COMPILER=" + shell_word(COLONNADE_CXX_COMPILER));
}

bool builds_tier(const std::string& build, const std::string& tier) {
  return std::filesystem::exists(build + "/CMakeFiles/colonnade_kernels_" + tier + ".dir");
}

TEST_F(Install, KernelsAreThoseOfTheHostWhereAskedFor) {
  const std::string build = folder() + "/host-tiers";
  const ProcessResult configured = configure_tiers(build, "host");
  ASSERT_EQ(configured.status, 0) << configured.output;
  std::ifstream processors("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(processors), {}};
  EXPECT_TRUE(builds_tier(build, "baseline"));
  EXPECT_EQ(builds_tier(build, "avx2"), text.find(" avx2 ") != std::string::npos);
  EXPECT_EQ(builds_tier(build, "avx512"), text.find(" avx512vl ") != std::string::npos);
}

TEST_F(Install, KernelsOfNoTierAreRefused) {
  const ProcessResult configured = configure_tiers(folder() + "/no-tier", "avx2;avx9");
  EXPECT_NE(configured.status, 0);
  EXPECT_NE(configured.output.find("no tier 'avx9'"), std::string::npos) << configured.output;
}

TEST_F(Install, ConsumerBuildsAndRunsByPkgConfig) {
  const std::string program = folder() + "/by-pkg-config";
  const ProcessResult built = compile(COLONNADE_CXX_COMPILER, "-std=c++20", kConsumer + "/main.cpp", program);
  ASSERT_EQ(built.status, 0) << built.output;
  expect_inputs(run_process(shell_word(program)));
}

TEST_F(Install, ACProgramEmbedsIt) {
  const std::string program = folder() + "/embed";
  const ProcessResult built = compile(COLONNADE_C_COMPILER, "-std=c99 -pedantic -Wall -Wextra -Werror",
                                      COLONNADE_SOURCE_DIR "/tests/install/embed/embed.c", program);
  ASSERT_EQ(built.status, 0) << built.output;
  expect_inputs(run_process(shell_word(program)));
}

TEST_F(Install, CommandLineToolRuns) {
  const ProcessResult result = run_process(shell_word(installed("bin") + "/colonnade") + " --version");
  EXPECT_EQ(result.status, 0) << result.output;
}

TEST_F(Install, LeavesThePythonModuleToPip) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(prefix()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("_engine")) << entry.path();
}

TEST_F(Install, AnOlderLanguageIsOneClearError) {
  const ProcessResult built =
      compile(COLONNADE_CXX_COMPILER, "-std=c++17 -fsyntax-only", kConsumer + "/main.cpp", "/dev/null");
  EXPECT_NE(built.status, 0);
  EXPECT_NE(built.output.find("colonnade.hpp needs C++20"), std::string::npos) << built.output;
  EXPECT_EQ(built.output.find("'span'"), std::string::npos) << built.output;
}

TEST_F(Install, SharedLibraryLeaksNoDependency) {
  const ProcessResult result =
      run_process("grep -niE 'protobuf|hwloc|dnnl|onnx|fmt|OpenMP' " + shell_word(installed("colonnade-shared.cmake")));
  EXPECT_EQ(result.status, 1) << result.output;
}

TEST_F(Install, PackageFilesNameNoPathOfTheBuild) {
  const ProcessResult result =
      run_process("grep -rnF -e " + shell_word(COLONNADE_SOURCE_DIR) + " -e " + shell_word(prefix()) +
                  " --include='*.cmake' --include='*.pc' --include='*.hpp' --include='*.h' " + shell_word(prefix()));
  EXPECT_EQ(result.status, 1) << result.output;
}

}  // namespace
}  // namespace colonnade
