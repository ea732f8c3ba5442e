// SPDX-License-Identifier: Apache-2.0
// The command line of every command.
#pragma once

#include <CLI/CLI.hpp>

#include "commands.hpp"

namespace colonnade::cli {

void add_arguments(CLI::App& app, BenchOptions& options);
void add_arguments(CLI::App& app, RunOptions& options);
void add_arguments(CLI::App& app, ExplainOptions& options);
void add_arguments(CLI::App& app, CheckOptions& options);
void add_arguments(CLI::App& app, MachineOptions& options);
void add_arguments(CLI::App& app, QuantizeOptions& options);
void add_arguments(CLI::App& app, OptimizeOptions& options);
void add_arguments(CLI::App& app, SimulateArguments& arguments);

}  // namespace colonnade::cli
