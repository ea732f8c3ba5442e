// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "graph/graph.hpp"

namespace colonnade {

/// Samples that lie beside each other when a graph's inputs have these shapes: what Graph::samples says.
std::int64_t count_samples(const Graph& graph, std::span<const Shape> input_shapes);

}  // namespace colonnade
