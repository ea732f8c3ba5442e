// SPDX-License-Identifier: Apache-2.0
#include "api/pipeline.hpp"

#include <algorithm>

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

bool are_shapes_of_inputs(const Graph& graph, const std::vector<Shape>& shapes) {
  return std::equal(graph.inputs.begin(), graph.inputs.end(), shapes.begin(), shapes.end(),
                    [&](ValueId id, const Shape& shape) { return graph.value(id).type.shape == shape; });
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
  const bool is_settled = optimized.is_settled && are_shapes_of_inputs(optimized, shapes);
  BoundGraph bound;
  Optimizer optimizer(passes_of(math));
  Graph whole;
  if (!is_settled) {
    whole = bind_shapes(optimized, shapes);
    set_layouts(whole, layouts);
    optimizer.settle(whole);
  }
  bound.rest = split(is_settled ? optimized : whole, bound.graph);
  if (bound.rest) {
    optimize(bound.graph, passes_of(math));  // the tail has its turn when its shapes are known
    return bound;
  }
  if (is_settled) whole = optimized;
  optimizer.run(whole);
  bound.rest = split(whole, bound.graph);
  if (!bound.rest) bound.graph = std::move(whole);
  return bound;
}

}  // namespace colonnade
