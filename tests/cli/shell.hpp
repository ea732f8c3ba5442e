// SPDX-License-Identifier: Apache-2.0
// Runs the CLI as a process of its own.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/folder.hpp"

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

/// What `explain MODEL --json` says.
nlohmann::ordered_json describe(const std::string& model);

}  // namespace colonnade::test
