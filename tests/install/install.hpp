// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/process.hpp"

namespace colonnade::test {

/// The build, installed to a temporary prefix: one for all tests of the suite.
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
  /// Compiles one file against the installed tree by pkg-config.
  static ProcessResult compile(const std::string& compiler, const std::string& flags, const std::string& source,
                               const std::string& program) {
    const std::string pc_folder = std::filesystem::path(installed("colonnade.pc")).parent_path().string();
    const std::string library_folder = std::filesystem::path(installed("libcolonnade.so")).parent_path().string();
    return run_process("export PKG_CONFIG_PATH=" + shell_word(pc_folder) + "; " + shell_word(compiler) + " " + flags +
                       " " + sanitize_flags() + " " + shell_word(source) + " -o " + shell_word(program) +
                       " $(pkg-config --cflags --libs colonnade) -Wl,-rpath," + shell_word(library_folder));
  }

 private:
  static inline std::filesystem::path folder_;
};

}  // namespace colonnade::test
