// SPDX-License-Identifier: Apache-2.0
// The steps from a model's bytes to graphs that can be planned; the same bytes and shapes give the same graphs.
#pragma once

#include "api/layouts.hpp"
#include "api/split.hpp"
#include "frontends/onnx/onnx.hpp"
#include "graph/graph.hpp"

namespace colonnade {

/// The imported graph, its dimensions set as options say, types inferred and verified.
Graph import_graph(const onnx_import::Source& source, const Options& options);

/// The graph after the passes that need no shapes, the graphs within it as well.
Graph optimized_graph(Graph graph, Math math);

struct BoundGraph {
  Graph graph;  ///< the part that can be planned, shapes known
  std::unique_ptr<const Rest> rest;
};
BoundGraph bound_graph(const Graph& optimized, const std::vector<Shape>& shapes, const Layouts& layouts, Math math);

}  // namespace colonnade
