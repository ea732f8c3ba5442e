// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <mutex>

#include "graph/graph.hpp"
#include "plan/plan.hpp"
#include "program/compile.hpp"
#include "runtime/executor.hpp"
#include "topology/topology.hpp"

namespace colonnade {

/// Everything made for one set of input shapes.
struct Prepared {
  std::vector<Shape> shapes;
  Graph graph;  ///< optimised, shapes bound
  Plan plan;
  std::shared_ptr<const Program> program;
  double milliseconds = 0;
};

struct __attribute__((visibility("hidden"))) Model::Impl {
  std::string name;
  Options options;
  Topology topology;
  int threads = 1;
  Graph imported;
  Graph optimized;  ///< shape-independent passes done
  std::vector<TensorInfo> inputs, outputs;
  mutable WeightStore weights;

  /// Passes, plan and program for the given input shapes; shared with whoever holds one already.
  std::shared_ptr<const Prepared> prepare(const std::vector<Shape>& shapes) const;

 private:
  std::shared_ptr<const Prepared> make(const std::vector<Shape>& shapes) const;
  mutable std::mutex mutex_;
  mutable std::list<std::weak_ptr<const Prepared>> prepared_;
};

std::string describe_plan(const Model::Impl& model, const Prepared& prepared);

}  // namespace colonnade
