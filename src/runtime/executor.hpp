// SPDX-License-Identifier: Apache-2.0
// Runs a Program: one OpenMP region a run, threads meet at barriers between segments and at flags within.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "program/program.hpp"

namespace colonnade {

/// Where the time of profiled runs went.
struct TraceEvent {
  std::int32_t op = 0;
  std::int32_t segment = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// All threads of a run meet here. Spins, and yields the processor after a bounded number of rounds.
/// Release on arrival, acquire on departure: what any thread wrote before it, every thread sees after it.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  void wait();

 private:
  const int threads_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<std::uint64_t> generation_{0};
};

/// The state of one program in one session: arena, progress flags, pointers. One run at a time.
class Executor {
 public:
  explicit Executor(std::shared_ptr<const Program> program);

  /// Inputs and outputs are dense and match the program's types and shapes. Throws what an island throws; the
  /// outputs are then unspecified.
  void run(std::span<const void* const> inputs, std::span<void* const> outputs);

  const Program& program() const { return *program_; }
  std::size_t bytes() const { return arena_.bytes(); }

  void set_profiling(bool on);
  int profiled_runs() const { return profiled_runs_; }
  /// Events by thread since profiling was turned on.
  const std::vector<std::vector<TraceEvent>>& events() const { return events_; }

 private:
  /// Rows of one node that one thread has finished, for the thread above.
  struct alignas(64) Progress {
    std::atomic<std::uint64_t> token{0};
  };

  void run_thread(int thread);
  void run_segment(std::size_t index, int thread);
  void run_list(std::size_t segment_index, const std::vector<Instruction>& list, std::int64_t round, int thread);
  /// A round is one strip of one image; rows of later rounds and runs count as later rows.
  std::uint64_t epoch(std::int64_t round) const {
    return (run_count_ * kMaxRounds + static_cast<std::uint64_t>(round)) << kRowBits;
  }
  Progress& progress(int thread, std::int32_t op) {
    return progress_[static_cast<std::size_t>(thread) * program_->ops.size() + static_cast<std::size_t>(op)];
  }
  void record_failure() noexcept;

  static constexpr std::uint64_t kMaxRounds = 1 << 16;
  static constexpr unsigned kRowBits = 24;

  std::shared_ptr<const Program> program_;
  AlignedBuffer arena_;
  std::vector<std::byte*> bases_;
  std::vector<std::vector<const float*>> pointers_;  ///< a thread
  std::unique_ptr<Progress[]> progress_;
  int team_;
  Barrier barrier_;
  std::uint64_t run_count_ = 0;
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  bool profiling_ = false;
  int profiled_runs_ = 0;
  std::vector<std::vector<TraceEvent>> events_;
};

}  // namespace colonnade
