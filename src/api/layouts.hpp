// SPDX-License-Identifier: Apache-2.0
// In which order of their axes the caller's inputs and outputs lie in memory.
#pragma once

#include <vector>

#include "graph/graph.hpp"

namespace colonnade {

/// The order (base/strides.hpp: memory_order) of each input and output; no list where all are row-major.
struct Layouts {
  std::vector<Ints> inputs, outputs;
  bool operator==(const Layouts&) const = default;
};

/// The graph's inputs and outputs become dense arrays in these orders: Transposes lead from and to them. Shapes are
/// bound.
void set_layouts(Graph& graph, const Layouts& layouts);

}  // namespace colonnade
