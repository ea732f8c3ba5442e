// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "graph/graph.hpp"

namespace colonnade {

/// Of a symbol that stands for any sizes: dimensions that share it need not be equal.
inline constexpr std::int64_t kAnySize = -1;

/// Gives open dimensions of the inputs their sizes by their symbols, and infers shapes again. Throws
/// Error{invalid_argument} for a negative size and for a symbol that no input has, naming those that there are.
void set_dimensions(Graph& graph, const std::map<std::string, std::int64_t>& sizes);

/// The graph whose inputs have no symbols for any sizes.
Graph without_any_sizes(Graph graph, const std::map<std::string, std::int64_t>& sizes);

}  // namespace colonnade
