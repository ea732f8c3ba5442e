// SPDX-License-Identifier: Apache-2.0
// Every header compiles alone, and C headers compile as C. Most sources begin with a header of their own, which then
// is compiled alone wherever nothing is precompiled, under the sanitizers: here are the others.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "rules/source_tree.hpp"
#include "support/process.hpp"

namespace colonnade {
namespace {

namespace fs = std::filesystem;
using test::run_process;
using test::shell_word;
using test::source_files;
using test::SourceFile;

std::string include_flags() {
  const std::string root = COLONNADE_SOURCE_DIR;
  return " -I" + shell_word(root + "/include") + " -I" + shell_word(root + "/src") + " -I" + shell_word(root) + " -I" +
         shell_word(root + "/frontends/cli") + " -I" + shell_word(COLONNADE_BINARY_DIR "/protocol");
}

/// Compiles a file that holds nothing but an include of the header, once for each header, some at a time.
void expect_compiles(const std::vector<SourceFile>& headers, const std::string& compiler) {
  std::string names;
  for (const SourceFile& header : headers) names += header.path + "\n";
  const std::string one = "printf '#include \"%s\"\\nextern int one_declaration;\\n' \"$1\" | " + compiler +
                          include_flags() + " -fsyntax-only - || { echo \"FAILED $1\"; exit 1; }";
  const unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  const auto result = run_process("printf '%s' " + shell_word(names) + " | xargs -P " + std::to_string(jobs) +
                                  " -n 1 sh -c " + shell_word(one) + " check");
  EXPECT_EQ(result.status, 0) << result.output;
}

/// Whether the source of the header's name includes it before anything else.
bool begins_its_source(const SourceFile& header) {
  std::ifstream source(fs::path(COLONNADE_SOURCE_DIR) / fs::path(header.path).replace_extension(".cpp"));
  for (std::string line; std::getline(source, line);) {
    if (!line.starts_with("#include")) continue;
    const std::string included = line.substr(line.find_first_of("\"<") + 1);
    return ("/" + header.path).ends_with("/" + included.substr(0, included.find_last_of("\">")));
  }
  return false;
}

/// Those of the Python module need nanobind, which only who builds it has.
class HeadersOf : public testing::TestWithParam<const char*> {};

TEST_P(HeadersOf, CompileAlone) {
  auto headers = source_files({GetParam()}, [](const std::string& path) {
    return (path.ends_with(".hpp") || path.ends_with(".h")) && !path.starts_with("frontends/python/");
  });
  std::erase_if(headers, begins_its_source);
  ASSERT_GT(headers.size(), 5u);
  expect_compiles(headers,
                  shell_word(COLONNADE_CXX_COMPILER) + " -std=c++20 -fopenmp -DONNX_ML=1 -DONNX_NAMESPACE=onnx -x c++");
}

INSTANTIATE_TEST_SUITE_P(Folders, HeadersOf, testing::Values("include", "src", "kernels", "frontends"),
                         [](const auto& folder) { return folder.param; });

TEST(Headers, CHeadersCompileAsC) {
  const auto headers = source_files({"include"}, [](const std::string& path) { return path.ends_with(".h"); });
  ASSERT_FALSE(headers.empty());
  expect_compiles(headers, shell_word(COLONNADE_C_COMPILER) + " -std=c11 -Wall -Wextra -pedantic-errors -x c");
}

TEST(Headers, CheckSeesABrokenHeader) {
  const auto result = run_process("echo 'std::vector<int> v;' | " + shell_word(COLONNADE_CXX_COMPILER) +
                                  " -std=c++20 -x c++ -fsyntax-only -");
  EXPECT_NE(result.status, 0);
}

}  // namespace
}  // namespace colonnade
