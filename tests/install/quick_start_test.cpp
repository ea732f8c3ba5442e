// SPDX-License-Identifier: Apache-2.0
// What README and docs/embed.md print for C++ programs is what examples/cpp holds, and the commands do what they say.
#include <fstream>
#include <regex>
#include <sstream>

#include "install/install.hpp"

namespace colonnade {
namespace {

using test::ProcessResult;
using test::run_process;
using test::shell_word;

const std::filesystem::path kSource = COLONNADE_SOURCE_DIR;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

/// The file without its first line, the licence.
std::string example(const std::string& name) {
  const std::string text = text_of(kSource / "examples/cpp" / name);
  return text.substr(text.find('\n') + 1);
}

/// The only block of this language in a document.
std::string block(const std::string& document, const std::string& language) {
  const std::string text = text_of(kSource / document);
  const std::string fence = "\n```" + language + "\n";
  const std::size_t open = text.find(fence);
  EXPECT_NE(open, std::string::npos) << language;
  EXPECT_EQ(text.find(fence, open + 1), std::string::npos) << language;
  const std::size_t first = open + fence.size();
  return text.substr(first, text.find("```\n", first) - first);
}

TEST(QuickStart, PrintsTheExample) {
  EXPECT_EQ(block("README.md", "cpp"), example("digit.cpp"));
  EXPECT_EQ(block("docs/embed.md", "cmake"), example("CMakeLists.txt"));
}

/// A folder that looks like the root of the checkout after a build.
TEST(QuickStart, ItsCommandsDoWhatTheySay) {
  if (std::string(COLONNADE_SANITIZERS) != "") GTEST_SKIP() << "programs need the sanitizers' flags then";
  const auto folder = std::filesystem::path(testing::TempDir()) / ("colonnade-start-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "build");
  std::filesystem::create_symlink(kSource / "examples", folder / "examples");
  std::filesystem::create_symlink(COLONNADE_BINARY_DIR, folder / "build/release");
  const std::string commands = block("docs/embed.md", "sh");
  const ProcessResult result =
      run_process("cd " + shell_word(folder.string()) + " && bash -e -c " + shell_word(commands));
  std::filesystem::remove_all(folder);
  EXPECT_EQ(result.status, 0) << result.output;
  std::size_t answers = 0;
  for (std::size_t at = 0; (at = result.output.find("digit 1\n", at)) != std::string::npos; ++at) ++answers;
  EXPECT_EQ(answers, 2u) << "once by CMake, once by pkg-config: " << result.output;
}

}  // namespace
}  // namespace colonnade
