// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "graph/graph.hpp"

namespace colonnade {

/// Gives open dimensions of the inputs their sizes by their symbols, and infers shapes again. Throws
/// Error{invalid_argument} for a negative size and for a symbol that no input has, naming those that there are.
void set_dimensions(Graph& graph, const std::map<std::string, std::int64_t>& sizes);

}  // namespace colonnade
