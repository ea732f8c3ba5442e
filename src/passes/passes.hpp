// SPDX-License-Identifier: Apache-2.0
// Graph -> Graph rewrites. One ordered table; the driver names, times, verifies and (on request) prints each.
// Every pass leaves a graph with open dimensions alone where it would need them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "graph/graph.hpp"

namespace colonnade {

struct Pass {
  std::string_view name;
  bool (*run)(Graph& graph);  ///< true when it changed something
  std::string_view purpose;   ///< one sentence
};

/// The passes in order; the driver repeats the table until nothing changes (bounded).
std::span<const Pass> passes();

struct PassTrace {
  std::string_view pass;
  double milliseconds = 0;
  bool changed = false;
};

struct PassOptions {
  std::vector<std::string> disabled;                             ///< passes to leave out, by name
  std::function<void(const PassTrace&, const Graph&)> observer;  ///< called after each pass
  bool verify = true;  ///< verify after each pass that changed something, not only at the end
};

/// Runs passes over one graph until nothing changes, each only where the graph changed since it looked. Throws
/// Error{internal} where one has broken the graph.
class Optimizer {
 public:
  explicit Optimizer(PassOptions options = {});

  /// The passes that settle sizes, constants and branches: what is open afterwards depends on data. Throws
  /// Error{invalid_model} that names a node whose sizes contradict each other then.
  void settle(Graph& graph);
  /// All passes.
  void run(Graph& graph);

 private:
  /// Those of the table from `first` on; true when one changed something.
  bool run_passes(Graph& graph, std::size_t first, std::size_t end);
  bool run_pass(const Pass& pass, Graph& graph) const;
  bool is_disabled(std::string_view name) const;

  PassOptions options_;
  int changes_ = 0;
  bool settling_ = false;
  std::vector<int> seen_;  ///< by pass: the changes after which it looked at the graph
};

/// Runs all passes over a graph.
inline void optimize(Graph& graph, const PassOptions& options = {}) { Optimizer(options).run(graph); }

}  // namespace colonnade
