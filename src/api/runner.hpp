// SPDX-License-Identifier: Apache-2.0
// Runs a model's graph and, where its shapes depend on data, whatever that makes necessary: bodies, and what was left
// until shapes were known. Each is planned for the shapes that it meets.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "api/apart.hpp"
#include "api/entry.hpp"
#include "api/spares.hpp"
#include "base/run_memory.hpp"

namespace colonnade {

/// Inputs of a run. Tensors are read where they are; `datum` makes one of them a datum when a node needs it as such.
struct Inputs {
  std::span<const TensorView> views;
  std::function<Datum(std::size_t)> datum;
};

/// One run at a time.
class Runner {
 public:
  explicit Runner(std::shared_ptr<const Model::Impl> model) : model_(std::move(model)) {}

  /// The plan for these shapes and layouts and the threads of the run, from now on the most recently used one. The
  /// least recently used ones go where the limit asks for it. Throws what `control` says while the plan is made.
  std::shared_ptr<Entry> use(const std::shared_ptr<const Graph>& source, std::span<const TensorView> inputs,
                             const RunControl& control, const Layouts& layouts = {});

  /// Throws what `control` says between and within programs; the runner can be used again.
  std::vector<Datum> run(Entry& entry, const Inputs& inputs, RunControl& control);
  /// For entries whose program does everything: into the caller's memory, which may lie where inputs do.
  void run(Entry& entry, std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
           const RunControl& control);

  /// What tensors of runs are made of.
  RunMemory& memory() { return memory_; }

  std::size_t cached_plans() const { return entries_.size(); }
  std::size_t cached_bytes() const;
  const Arena& arena() const { return *arena_; }
  /// Forgets all plans and gives the memory of this runner back.
  void shrink();
  void set_profiling(bool on);

 private:
  /// A graph whose results may lie in `spares`.
  std::vector<Datum> run_data(const std::shared_ptr<const Graph>& source, std::span<const Datum* const> inputs,
                              RunControl& control, Spares* spares = nullptr);
  /// The entry's program, into tensors of its own or into `spares`.
  std::vector<Datum> run_program(Entry& entry, std::span<const void* const> inputs, const RunControl& control,
                                 Spares* spares = nullptr);
  std::vector<Datum> run_rest(Entry& entry, const Inputs& inputs, RunControl& control);
  void evict();

  int home();

  std::shared_ptr<const Model::Impl> model_;
  std::optional<int> home_;                                   ///< NUMA node of its memory and workers
  int away_ = 0;                                              ///< uses since it was last used there
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>();  ///< of all plans: programs run one after another
  std::list<std::shared_ptr<Entry>> entries_;                 ///< most recently used first
  RunMemory memory_;
  bool profiling_ = false;
  std::vector<const void*> from_;  ///< kept: a run of a program allocates nothing
  std::vector<void*> to_;
  ApartOutputs apart_;
};

}  // namespace colonnade
