// SPDX-License-Identifier: Apache-2.0
// Runs a Program with the workers that are idle: threads meet at barriers between segments and at flags within.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "program/program.hpp"
#include "runtime/arena.hpp"
#include "runtime/barrier.hpp"
#include "runtime/control.hpp"
#include "runtime/wait.hpp"
#include "runtime/workers.hpp"

namespace colonnade {

/// Where the time of profiled runs went.
struct TraceEvent {
  NodeIndex op{};
  std::int32_t segment = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// Programs of one plan that differ in the copies of constants that they read, by NUMA node.
using NodePrograms = std::map<int, std::shared_ptr<const Program>>;

/// The state of one program in one session: arena, progress flags, pointers. One run at a time.
///
/// The lists of a plan's threads are run by as many threads as there are, the same bits by any number: of k, thread j
/// runs the lists j, j + k, ... of each round, the last one first. A list waits for rows of the next one only.
class Executor {
 public:
  /// Executors that share an arena do not run at the same time; null: one of its own. `workers` may be null: those of
  /// the process.
  explicit Executor(std::shared_ptr<const Program> program, std::shared_ptr<Arena> arena = nullptr,
                    Workers* workers = nullptr);
  /// Workers come from this NUMA node alone; kAnyNode: from all.
  void set_node(int node) { node_ = node; }
  /// What threads on other nodes run instead, if `programs` has theirs.
  void set_elsewhere(const NodePrograms& programs);

  /// Inputs and outputs are dense and match the program's types and shapes. Throws what an island throws, and what
  /// `control` says; the outputs are then unspecified.
  void run(std::span<const void* const> inputs, std::span<void* const> outputs,
           const RunControl& control = RunControl(RunOptions()));

  const Program& program() const { return *program_; }
  /// Of the arena that the program needs.
  std::size_t arena_bytes() const { return static_cast<std::size_t>(program_->arena_bytes); }

  void set_profiling(bool on);
  int profiled_runs() const { return profiled_runs_; }
  /// Events by list since profiling was turned on.
  const std::vector<std::vector<TraceEvent>>& events() const { return events_; }

 private:
  /// Rows of one node that one list has finished, for the list above.
  struct alignas(64) Progress {
    std::atomic<std::uint64_t> token{0};
  };

  /// A program, and what its views' bases are in this run.
  struct Copy {
    std::shared_ptr<const Program> program;
    std::vector<std::byte*> bases;
  };
  /// A thread of the run; the caller is number 0.
  struct Thread {
    int number;
    int of;
    const Copy& copy;
  };

  static Copy copy_of(std::shared_ptr<const Program> program);
  void set_bases(Copy& copy, std::span<const void* const> inputs, std::span<void* const> outputs) const;
  void run_thread(int number, int threads);
  /// False when the run has failed and all threads are to leave.
  bool run_segment(std::size_t index, const Thread& thread);
  StepContext context_of(const ProgramSegment& segment, int list, std::int64_t round, const Copy& copy);
  void run_list(std::size_t segment_index, int list, std::int64_t round, const Thread& thread);
  Workers& workers() const { return workers_ != nullptr ? *workers_ : Workers::process(); }
  bool meet(const Thread& thread);
  /// Later rows of a round, later rounds of a run and later runs have later tokens.
  std::uint64_t token(std::int64_t round, std::int32_t row) const {
    return ((first_round_ + static_cast<std::uint64_t>(round)) << kRowBits) + static_cast<std::uint64_t>(row);
  }
  void begin_rounds();
  Progress& progress(int list, NodeIndex node) {
    return progress_[static_cast<std::size_t>(list) * program_->ops.size() + static_cast<std::size_t>(node)];
  }
  void record_failure() noexcept;

  static constexpr unsigned kRowBits = 32;
  static constexpr std::uint64_t kMaxRounds = std::uint64_t{1} << kRowBits;

  std::shared_ptr<const Program> program_;
  std::shared_ptr<Arena> arena_;
  Copy copy_;
  std::map<int, Copy> elsewhere_;
  std::vector<std::vector<const float*>> pointers_;  ///< by list
  std::vector<std::vector<View>> strip_views_;       ///< by list: room for views of strips
  std::unique_ptr<Progress[]> progress_;
  std::unique_ptr<Bell[]> bells_;  ///< a list's rings when it has rows for the list above
  int team_;
  Workers* workers_;
  int node_ = Workers::kAnyNode;
  Barrier barrier_;
  std::uint64_t rounds_ = 1;       ///< that a run has at most: strips of images in a segment
  std::uint64_t first_round_ = 0;  ///< of this run; rounds are counted over all runs
  const RunControl* control_ = nullptr;
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  bool profiling_ = false;
  int profiled_runs_ = 0;
  std::vector<std::vector<TraceEvent>> events_;
};

}  // namespace colonnade
