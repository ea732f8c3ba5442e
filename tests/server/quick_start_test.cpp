// SPDX-License-Identifier: Apache-2.0
// The commands under "Serve models" in README.md, run as they are printed.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

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

struct Outcome {
  int status = -1;
  std::string output;
};

Outcome run(const std::string& command) {
  Outcome result;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> block{};
  while (const std::size_t count = fread(block.data(), 1, block.size(), pipe))
    result.output.append(block.data(), count);
  result.status = pclose(pipe);
  return result;
}

/// The default ports are the README's: a network of its own keeps them free.
TEST(QuickStart, ServesAsPrinted) {
  if (run("unshare -rn bash -c 'ip link set lo up && command -v curl' 2>&1").status != 0)
    GTEST_SKIP() << "no network namespaces, or no curl";
  std::string pattern = (std::filesystem::temp_directory_path() / "colonnade_XXXXXX").string();
  const std::filesystem::path folder = mkdtemp(pattern.data());
  std::filesystem::create_directory(folder / "build");
  std::filesystem::create_symlink(COLONNADE_BINARY_DIR, folder / "build/release");
  std::filesystem::create_symlink(COLONNADE_SOURCE_DIR "/models", folder / "models");
  std::ofstream(folder / "commands.sh") << commands_under("## Serve models") << "wait\n";
  const Outcome result =
      run("cd " + folder.string() + " && unshare -rn bash -c 'ip link set lo up && exec bash -e commands.sh' 2>log");
  std::ifstream log(folder / "log");
  std::stringstream logged;
  logged << log.rdbuf();
  std::filesystem::remove_all(folder);
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
