// SPDX-License-Identifier: Apache-2.0
#include "api/pipeline.hpp"

#include "graph/dimensions.hpp"
#include "graph/parameters.hpp"
#include "passes/passes.hpp"

namespace colonnade {
namespace {

PassOptions passes_of(Math math) {
  PassOptions options;
#ifdef NDEBUG
  options.verify = false;  // as often as passes change something it would take a tenth of their time
#endif
  if (math == Math::exact) options.disabled = {"flush_denormals"};
  return options;
}

}  // namespace

Graph import_graph(const onnx_import::Source& source, const Options& options) {
  Graph graph = source.import({options.schema, options.dynamic_scale});
  infer_types(graph);
  set_dimensions(graph, options.dimensions);
  verify(graph);
  check_constant_indices(graph);
  return graph;
}

Graph optimized_graph(Graph graph, Math math) {
  optimize(graph, passes_of(math));
  for (Node& node : graph.nodes) {
    for (Body* body : bodies_in(node.op)) *body = std::make_shared<const Graph>(optimized_graph(**body, math));
  }
  return graph;
}

BoundGraph bound_graph(const Graph& optimized, const std::vector<Shape>& shapes, const Layouts& layouts, Math math) {
  BoundGraph bound{bind_shapes(optimized, shapes), nullptr};
  set_layouts(bound.graph, layouts);
  optimize(bound.graph, passes_of(math));
  bound.rest = split(bound.graph);
  return bound;
}

}  // namespace colonnade
