// SPDX-License-Identifier: Apache-2.0
// Access maps as tables: for every row-wise node and input, the input rows of each output row.
#pragma once

#include <vector>

#include "base/indexed.hpp"
#include "families/family.hpp"
#include "graph/indices.hpp"

namespace colonnade {

/// Input rows [begin[r], end[r]) that output row r needs. Empty tables: the input is needed whole.
struct RowMap {
  Indexed<std::int64_t, std::int32_t> begin, end;
  bool whole() const { return begin.empty(); }
};

/// What the planner knows of one node.
struct RowNode {
  bool by_rows = false;
  std::int64_t images = 1;
  std::int64_t rows = 1;   ///< output rows; for whole-tensor kernels the units their threads share
  std::int64_t turns = 1;  ///< in which units run (Family::turns)
  std::int64_t granularity = 1;
  std::int64_t row_bytes = 0;  ///< of an output row
  std::vector<RowMap> inputs;  ///< one a node input
};

/// Row view of a node's output; a channels-first output is seen as the channels-last one it is made from.
RowShape output_rows(const Graph& graph, const Node& node, const Choice& choice);

ByNode<RowNode> row_nodes(const Graph& graph, const ByNode<Choice>& choices);

}  // namespace colonnade
