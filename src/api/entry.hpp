// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <span>

#include "api/impl.hpp"

namespace colonnade {

/// A plan with the state to run it; while its duel is open, the runner-up's beside it.
class Entry {
 public:
  explicit Entry(std::shared_ptr<const Prepared> plan)
      : prepared(std::move(plan)), executor(std::make_unique<Executor>(prepared->program)) {}

  /// Before a run: makes what an open duel needs, or goes on with the plan that won. Both sides of a duel share one
  /// arena; the loser and its memory go. Without memory to do so the plan goes on as it is.
  void follow_duel(const RunControl& control) noexcept;
  /// Runs the plan or, in turns, the other side of its duel. Times and outcomes go to the model. A run that throws
  /// does not count, and one with a deadline takes no part.
  void run(const Model::Impl& model, std::span<const void* const> inputs, std::span<void* const> outputs,
           const RunControl& control);
  void set_profiling(bool on);

  std::size_t bytes() const { return executor->bytes() + (rival_ ? 2 : 1) * prepared->bytes; }

  std::shared_ptr<const Prepared> prepared;
  std::unique_ptr<Executor> executor;

 private:
  /// Milliseconds.
  static double timed(Executor& executor, std::span<const void* const> inputs, std::span<void* const> outputs,
                      const RunControl& control);
  void take_part();
  void take_winner();

  std::unique_ptr<Executor> rival_;  ///< the runner-up's
  std::array<bool, 2> is_warm_{};    ///< by side: it has run in the arena that both share
  bool profiling_ = false;
};

}  // namespace colonnade
