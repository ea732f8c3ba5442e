// SPDX-License-Identifier: Apache-2.0
#include "colonnade/optimize.hpp"

#include <fmt/core.h>

#include <charconv>
#include <filesystem>

#include "commands.hpp"
#include "model_io.hpp"

namespace colonnade::cli {
namespace {

std::map<std::string, std::int64_t> sizes_of(const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> sizes;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    const char* const end = text.data() + text.size();
    std::int64_t size = -1;
    const bool is_number =
        equals != std::string::npos && std::from_chars(text.data() + equals + 1, end, size).ptr == end;
    if (!is_number || size < 0)
      throw Error(ErrorCode::invalid_argument, fmt::format("--dimension '{}': expected SYMBOL=SIZE", text));
    sizes[text.substr(0, equals)] = size;
  }
  return sizes;
}

}  // namespace

int execute(const OptimizeOptions& options, std::string& out) {
  EngineOptions engine;
  engine.model = options.model;
  Options plan;
  plan.dimensions = sizes_of(options.dimensions);
  const Model model = open_model(engine, plan);
  const OptimizedCounts counts = write_optimized(model, options.output, {options.weights});
  out += fmt::format("nodes        {} -> {}\n", counts.nodes_before, counts.nodes_after);
  return kGood;
}

}  // namespace colonnade::cli
