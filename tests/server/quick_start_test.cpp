// SPDX-License-Identifier: Apache-2.0
// The commands under "Serve models" in README.md, run as they are printed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/folder.hpp"
#include "support/process.hpp"

namespace colonnade {
namespace {

/// The first block of commands behind a heading.
std::string commands_under(const std::string& heading) {
  std::ifstream file(COLONNADE_SOURCE_DIR "/README.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string readme = text.str(), fence = "```sh\n";
  const std::size_t begin = readme.find(fence, readme.find(heading)) + fence.size();
  return readme.substr(begin, readme.find("```", begin) - begin);
}

/// The default ports are the README's: a network of its own keeps them free. Root needs no user namespace for it, which
/// a changed root folder does not allow.
TEST(QuickStart, ServesAsPrinted) {
  const std::string alone = getuid() == 0 ? "unshare -n" : "unshare -rn";
  const test::ProcessResult tried = test::run_process(alone + " bash -c 'ip link set lo up && command -v curl'");
  if (tried.status != 0) GTEST_SKIP() << "no network of its own, or no curl: " << tried.output;
  const test::TemporaryFolder temporary;
  const std::filesystem::path& folder = temporary.path();
  std::filesystem::create_directory(folder / "build");
  std::filesystem::create_symlink(COLONNADE_BINARY_DIR, folder / "build/release");
  std::filesystem::create_symlink(COLONNADE_SOURCE_DIR "/models", folder / "models");
  std::ofstream(folder / "commands.sh") << commands_under("## Serve models") << "wait\n";
  const test::ProcessResult result = test::run_process(
      "cd " + folder.string() + " && " + alone + " bash -c 'ip link set lo up && exec bash -e commands.sh' 2>log");
  std::ifstream log(folder / "log");
  std::stringstream logged;
  logged << log.rdbuf();
  EXPECT_EQ(result.status, 0) << result.output << logged.str();

  const auto has = [&](const std::string& text) { return result.output.find(text) != std::string::npos; };
  EXPECT_TRUE(has(R"({"ready":true})")) << result.output;
  EXPECT_TRUE(has(R"("name":"digits")"));
  EXPECT_TRUE(has(R"("inference_count":2)"));
  EXPECT_TRUE(has("nv_inference_count{"));
  const std::size_t data = result.output.find("\"data\":[");
  ASSERT_NE(data, std::string::npos) << result.output;
  const std::size_t begin = data + 7;
  const auto shares = nlohmann::json::parse(result.output.substr(begin, result.output.find(']', begin) + 1 - begin));
  ASSERT_EQ(shares.size(), 10u);
  EXPECT_EQ(std::max_element(shares.begin(), shares.end()) - shares.begin(), 7);
}

}  // namespace
}  // namespace colonnade
