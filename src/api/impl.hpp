// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>

#include "api/compiled.hpp"
#include "api/duel.hpp"
#include "api/growing.hpp"
#include "api/layouts.hpp"
#include "api/numa.hpp"
#include "api/pipeline.hpp"
#include "api/split.hpp"
#include "colonnade/memory.hpp"
#include "graph/graph.hpp"
#include "passes/pack_tokens.hpp"
#include "plan/plan.hpp"
#include "program/compile.hpp"
#include "runtime/executor.hpp"
#include "topology/topology.hpp"

namespace colonnade {

/// What a plan is made for.
struct PlanKey {
  std::shared_ptr<const Graph> source;  ///< the model's, a body within it, or what was left until shapes were known
  std::vector<Shape> shapes;            ///< as the graph sees them; empty for inputs that are no tensors
  Layouts layouts;
  int node = 0;     ///< of NUMA, whose copy of the weights its caller reads
  int threads = 1;  ///< at most the model's
  bool operator==(const PlanKey&) const = default;
};

/// What a node's operator, form, names and lists take beside the node; measured.
inline constexpr std::size_t kBytesAroundANode = 2048;
/// The same of a node of a tail, which is a graph and no more: a voice's 1185 nodes take 809 KB.
inline constexpr std::size_t kBytesAroundATailsNode = 224;

/// Everything made for a key: a program for the part of the graph whose shapes follow from it, and what is done with
/// the rest.
struct Prepared : PlanKey {
  Graph graph;  ///< the planned part: optimised, shapes bound
  Plan plan;
  std::shared_ptr<const Program> program;
  NodePrograms elsewhere;            ///< the same with the weights of other nodes, where its team is on several
  std::unique_ptr<const Rest> rest;  ///< null: the program does everything
  std::size_t bytes = 0;             ///< about what this takes, without weights and arenas
  double milliseconds = 0;
  std::shared_ptr<Duel> duel;  ///< null: the plan has none, or has won it
};

struct __attribute__((visibility("hidden"))) Model::Impl {
  std::string name;
  Options options;
  Topology topology;
  int threads = 1;
  std::shared_ptr<onnx_import::Source> import_from;
  std::shared_ptr<const Graph> optimized;  ///< shape-independent passes done, in bodies too
  Packing packing;                         ///< of texts with padding, where it can be left out
  mutable GrowingPlans growing;            ///< networks for classes of lengths, where inputs grow
  NumaPolicy numa;
  std::vector<TensorInfo> inputs, outputs;
  ModelMetadata metadata;
  mutable WeightStore weights;
  std::unique_ptr<Compiled> compiled;  ///< null: no file was asked for

  /// Threads of a run that asks for so many; throws Error{invalid_argument} for less than none.
  int threads_of_run(int asked) const;

  /// The graph as it was imported: now, where a compiled file made that unnecessary before.
  const Graph& imported() const;

  /// Passes, plan and program for a key; shared with whoever holds one already. Throws what `control` says meanwhile;
  /// null: nothing.
  std::shared_ptr<const Prepared> prepare(const PlanKey& key, const RunControl* control = nullptr) const;
  std::shared_ptr<const Prepared> prepare(std::vector<Shape> shapes) const {
    return prepare(PlanKey{optimized, std::move(shapes), {}, node_here(), threads});
  }
  /// Whose copy of the weights a caller in this thread reads.
  int node_here() const;

  /// For an entry whose duel ripens: makes the runner-up, if there is one near enough, and opens the duel or ends it.
  /// Broken off where `control` says so: the plan then goes on.
  void open_duel(const Prepared& predicted, const RunControl& control) const;
  /// For the entry whose run has decided: from now on the winner is the plan for the key.
  void end_duel(const Prepared& predicted) const;
  /// How the duel of a key's plans ended, if it did.
  std::optional<Verdict> verdict_of(const PlanKey& key) const;
  /// The programs of its plan, with the weights of each node that its team may be on.
  void compile_for(Prepared& prepared) const;
  /// What programs for a key will hold, before they are made; the plan is kept for the next `prepare` of the key.
  MemoryNeed need_of(const PlanKey& key) const;

 private:
  /// Graph and plan of a key without a program.
  struct Planned : PlanKey {
    BoundGraph bound;
    Plan plan;
  };
  Planned planned(const PlanKey& key) const;
  /// For a team within a node, unless one of all nodes is predicted to be worth its threads.
  Plan plan_for(const Graph& graph, const PlanKey& key) const;
  /// The line of data flow: passes once shapes are bound, plan, program.
  std::shared_ptr<Prepared> make(const PlanKey& key) const;
  /// The same with graph and plan from the compiled file; null where it has none for the key.
  std::shared_ptr<Prepared> read(const PlanKey& key) const;
  /// What `read` or `make` gives, measured, kept in the compiled file, refused where it has islands that may not be.
  std::shared_ptr<const Prepared> read_or_make(const PlanKey& key, const RunControl* control) const;
  /// One or the other; broken off where `control` says so.
  std::shared_ptr<Prepared> read_or_made(const PlanKey& key, const RunControl* control) const;
  /// A plan's runner-up with its program.
  std::shared_ptr<Prepared> prepared_as(const Prepared& predicted, Plan runner_up) const;
  /// Who holds one already, or who makes one now and will tell; then null, and the caller is to make it.
  std::shared_ptr<const Prepared> known_or_mine(const PlanKey& key, const RunControl* control) const;
  void end_making(const PlanKey& key, std::shared_ptr<const Prepared> made) const;
  bool may_duel(const Prepared& prepared) const;
  const Verdict* find_verdict(const PlanKey& key) const;
  mutable std::once_flag import_once_;
  mutable Graph imported_;
  mutable std::timed_mutex compiled_mutex_;  ///< held while something is made with the compiled file
  mutable std::mutex mutex_;                 ///< of what follows; never held while something is made
  mutable std::condition_variable made_;
  mutable std::list<PlanKey> making_;
  mutable std::optional<Planned> planned_;  ///< by `need_of`, and not made into a program yet
  mutable std::list<std::weak_ptr<const Prepared>> prepared_;
  mutable std::list<std::pair<PlanKey, Verdict>> verdicts_;  ///< one a key
  mutable int duels_ = 0;                                    ///< that were opened
};

/// What a model is made of. Throws Error{invalid_argument} for one that was made of nothing or moved from.
const std::shared_ptr<const Model::Impl>& known(const Model& model);

/// The input of that name. Throws Error{invalid_argument} that lists those that there are.
const TensorInfo& input_named(std::span<const TensorInfo> inputs, const std::string& name);

/// Nodes that no kernel of ours runs, the planned ones first.
std::vector<Island> islands_of(const Prepared& prepared);

std::string describe_plan(const Model::Impl& model, const Prepared& prepared);

}  // namespace colonnade
