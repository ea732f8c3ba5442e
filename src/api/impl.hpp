// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <mutex>

#include "api/compiled.hpp"
#include "api/split.hpp"
#include "graph/graph.hpp"
#include "plan/plan.hpp"
#include "program/compile.hpp"
#include "runtime/executor.hpp"
#include "topology/topology.hpp"

namespace colonnade {

/// Everything made of a graph for one set of input shapes: a program for the part whose shapes follow from them, and
/// what is done with the rest.
struct Prepared {
  std::shared_ptr<const Graph> source;
  std::vector<Shape> shapes;  ///< empty for inputs that are no tensors
  Graph graph;                ///< the planned part: optimised, shapes bound
  Plan plan;
  std::shared_ptr<const Program> program;
  std::unique_ptr<const Rest> rest;  ///< null: the program does everything
  std::size_t bytes = 0;             ///< about what this takes, without weights and arenas
  double milliseconds = 0;
};

struct __attribute__((visibility("hidden"))) Model::Impl {
  std::string name;
  Options options;
  Topology topology;
  int threads = 1;
  std::shared_ptr<onnx_import::Source> import_from;
  std::shared_ptr<const Graph> optimized;  ///< shape-independent passes done, in bodies too
  std::vector<TensorInfo> inputs, outputs;
  mutable WeightStore weights;
  std::unique_ptr<Compiled> compiled;  ///< null: no file was asked for

  /// The graph as it was imported: now, where a compiled file made that unnecessary before.
  const Graph& imported() const;

  /// Passes, plan and program of the model for the given input shapes; shared with whoever holds one already.
  std::shared_ptr<const Prepared> prepare(const std::vector<Shape>& shapes) const { return prepare(optimized, shapes); }
  /// The same of any graph within the model: a body, or what was left until shapes were known.
  std::shared_ptr<const Prepared> prepare(const std::shared_ptr<const Graph>& source,
                                          const std::vector<Shape>& shapes) const;

 private:
  Compiled::Planned plan(const Graph& graph, const std::vector<Shape>& shapes) const;
  std::shared_ptr<const Prepared> make(const std::shared_ptr<const Graph>& source,
                                       const std::vector<Shape>& shapes) const;
  mutable std::once_flag import_once_;
  mutable Graph imported_;
  mutable std::mutex mutex_;
  mutable std::list<std::weak_ptr<const Prepared>> prepared_;
};

/// Nodes that no kernel of ours runs, the planned ones first.
std::vector<Island> islands_of(const Prepared& prepared);

std::string describe_plan(const Model::Impl& model, const Prepared& prepared);

}  // namespace colonnade
