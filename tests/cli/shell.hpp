// SPDX-License-Identifier: Apache-2.0
// Runs the CLI as a process of its own, and gives tests a folder for their files.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace colonnade::test {

struct CliResult {
  int status = -1;  ///< exit status, or 128 + signal
  std::string out;
  std::string err;
};

/// Runs `colonnade ARGUMENTS...` to its end.
CliResult run_cli(const std::vector<std::string>& arguments);

/// The same, but nobody reads its stdout: the reading end is closed before it starts.
CliResult run_cli_unread(const std::vector<std::string>& arguments);

/// A new folder that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// What `explain MODEL --json` says.
nlohmann::ordered_json describe(const std::string& model);

}  // namespace colonnade::test
