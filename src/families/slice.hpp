// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "graph/parameters.hpp"

namespace colonnade {

/// What a Slice with constant bounds takes of each axis.
std::optional<std::vector<SliceRange>> slice_axes_of(const Graph& graph, const Node& node);

}  // namespace colonnade
