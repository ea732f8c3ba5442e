// SPDX-License-Identifier: Apache-2.0
// What of a graph can be planned now, and what has to wait for data.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.hpp"

namespace colonnade {

/// A run keeps the data of a graph that is not planned as a whole in slots.
using Slot = std::int32_t;
inline constexpr Slot kNoSlot = -1;

/// A node that is evaluated on data as they come.
struct ApartNode {
  Node node;
  std::vector<Slot> inputs, outputs;  ///< kNoSlot where absent
  std::string reason;
  bool is_along = false;  ///< for another one's sake: it works on as many elements as that one found, and they are few
};

/// What happens around the program of a graph: its outputs and the graph's inputs feed the nodes apart, then the tail
/// runs, whose shapes are known by then.
struct Rest {
  Slot slots = 0;
  std::vector<Slot> inputs;                           ///< of the graph
  std::vector<bool> is_held;                          ///< by input: read by more than the program
  std::vector<Slot> program_inputs, program_outputs;  ///< program_inputs: positions among the graph's inputs
  std::vector<std::pair<Slot, std::shared_ptr<const Tensor>>> constants;
  std::vector<ApartNode> apart;
  std::shared_ptr<const Graph> tail;  ///< null: nothing is left
  std::vector<Slot> tail_inputs, tail_outputs;
  std::vector<Slot> outputs;         ///< of the graph
  std::vector<Shape> output_shapes;  ///< as far as they are known: -1 where not, [-1] without a rank
};

/// Splits a bound graph at the nodes that need data: those with bodies, with data that are no numeric tensors, with
/// shapes that depend on data. Null when there are none; else `planned` becomes the part that can be planned.
std::unique_ptr<const Rest> split(const Graph& graph, Graph& planned);

}  // namespace colonnade
