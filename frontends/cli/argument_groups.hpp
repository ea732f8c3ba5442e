// SPDX-License-Identifier: Apache-2.0
// Options that several commands have.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "commands.hpp"

namespace colonnade::cli {

inline constexpr double kMostThreads = 4096;
inline constexpr double kMostCount = 1e9;

/// A range that --help does not spell out.
CLI::Validator within(double low, double high);
CLI::Validator not_negative();
/// The option takes one of some words, which --help shows.
CLI::Option* choose(CLI::Option* option, const std::vector<std::string>& words);

void add_model(CLI::App& app, EngineOptions& engine);
/// What plans depend on besides the machine.
void add_planning(CLI::App& app, EngineOptions& engine);
/// Threads, planning and the rest.
void add_engine(CLI::App& app, EngineOptions& engine);
void add_compiled(CLI::App& app, EngineOptions& engine);
void add_shape(CLI::App& app, ShapeOptions& shape);
void add_image(CLI::App& app, images::ImageOptions& image);
void add_inputs(CLI::App& app, InputOptions& input);

}  // namespace colonnade::cli
