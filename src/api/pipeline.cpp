// SPDX-License-Identifier: Apache-2.0
#include "api/pipeline.hpp"

#include "graph/dimensions.hpp"
#include "graph/parameters.hpp"
#include "passes/passes.hpp"

namespace colonnade {

Graph import_graph(const onnx_import::Source& source, const Options& options) {
  Graph graph = source.import();
  infer_types(graph);
  set_dimensions(graph, options.dimensions);
  verify(graph);
  check_constant_indices(graph);
  return graph;
}

Graph optimized_graph(Graph graph) {
  optimize(graph);
  for (Node& node : graph.nodes) {
    for (Body* body : bodies_in(node.op)) *body = std::make_shared<const Graph>(optimized_graph(**body));
  }
  return graph;
}

BoundGraph bound_graph(const Graph& optimized, const std::vector<Shape>& shapes, const Layouts& layouts) {
  BoundGraph bound{bind_shapes(optimized, shapes), nullptr};
  set_layouts(bound.graph, layouts);
  optimize(bound.graph);
  bound.rest = split(bound.graph);
  return bound;
}

}  // namespace colonnade
