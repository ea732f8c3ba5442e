// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "api/impl.hpp"

namespace colonnade {

/// A plan with the state to run it; while its duel is open, the runner-up's beside it.
class Entry {
 public:
  /// Entries that share an arena do not run at the same time. Workers come from a NUMA node: that of the session's
  /// memory.
  Entry(std::shared_ptr<const Prepared> plan, std::shared_ptr<Arena> arena, int node = Workers::kAnyNode)
      : prepared(std::move(plan)), arena_(std::move(arena)), node_(node) {
    executor = executor_for(*prepared);
  }

  /// Before a run: makes what an open duel needs, or goes on with the plan that won; the loser goes. Without memory to
  /// do so the plan goes on as it is.
  void follow_duel(const RunControl& control) noexcept;
  /// Runs the plan or, in turns, the other side of its duel. Times and outcomes go to the model. A run that throws
  /// does not count, and one with a deadline takes no part.
  void run(const Model::Impl& model, std::span<const void* const> inputs, std::span<void* const> outputs,
           const RunControl& control);
  void set_profiling(bool on);

  /// Without the arena.
  std::size_t bytes() const { return (rival_ ? 2 : 1) * prepared->bytes; }
  /// That it needs.
  std::size_t arena_bytes() const { return std::max(executor->arena_bytes(), rival_ ? rival_->arena_bytes() : 0); }

  std::shared_ptr<const Prepared> prepared;
  std::unique_ptr<Executor> executor;

 private:
  std::unique_ptr<Executor> executor_for(const Prepared& plan) const;
  /// Milliseconds.
  static double timed(Executor& executor, std::span<const void* const> inputs, std::span<void* const> outputs,
                      const RunControl& control);
  void take_part();
  void take_winner();

  std::shared_ptr<Arena> arena_;
  int node_;
  std::unique_ptr<Executor> rival_;  ///< the runner-up's
  std::array<bool, 2> is_warm_{};    ///< by side: it has run in the arena that both share
  bool profiling_ = false;
};

}  // namespace colonnade
