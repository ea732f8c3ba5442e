// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "frontends/server/serve.hpp"

namespace colonnade::cli {

struct ServeArguments {
  serve::ServeOptions options;
  std::vector<std::string> more_repositories;
  std::optional<std::size_t> memory_limit;
};

void add_arguments(CLI::App& app, ServeArguments& arguments);
int execute(const ServeArguments& arguments, std::string& out);

}  // namespace colonnade::cli
