// SPDX-License-Identifier: Apache-2.0
// What a graph that is still being made says of its own shape arithmetic.
#pragma once

#include <memory>

#include "graph/graph.hpp"

namespace colonnade::reference {

/// A small tensor that follows from constants and from shapes that are known; null where none does. Looks at `budget`
/// nodes at most, the last ones of the graph. Throws what evaluation throws.
std::shared_ptr<const Tensor> known_tensor(const Graph& graph, ValueId id, int& budget);

}  // namespace colonnade::reference
