// SPDX-License-Identifier: Apache-2.0
// Models written as ONNX: the passes say what is constant, the importer's messages take it in.
#include "colonnade/optimize.hpp"

#include "api/impl.hpp"
#include "frontends/onnx/onnx.hpp"
#include "graph/dimensions.hpp"
#include "passes/passes.hpp"

namespace colonnade {
namespace {

/// The one pass that leaves values as the model names them.
Graph folded(Graph graph, const Options& options) {
  infer_types(graph);
  set_dimensions(graph, options.dimensions);
  PassOptions only;
  only.verify = false;
  for (const Pass& pass : passes())
    if (pass.name != "fold_constants") only.disabled.emplace_back(pass.name);
  optimize(graph, only);
  return graph;
}

}  // namespace

OptimizedCounts write_optimized(const Model& model, const std::string& path, const OptimizedFile& file) {
  const Model::Impl& impl = *known(model);
  onnx_import::Draft draft = impl.import_from->draft();
  OptimizedCounts counts;
  counts.nodes_before = draft.node_count();
  draft.learn(folded(draft.graph(), impl.options));
  draft.set_dimensions(impl.options.dimensions);
  draft.simplify();
  counts.nodes_after = draft.node_count();
  draft.write(path, file.weights, file.least_bytes);
  return counts;
}

}  // namespace colonnade
