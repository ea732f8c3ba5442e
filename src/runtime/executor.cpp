// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor.hpp"

#include <omp.h>
#include <sched.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace colonnade {
namespace {

constexpr int kSpinRounds = 4000;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Threads that have work in any segment: a network too small to share starts no team.
int team_of(const Program& program) {
  int team = 1;
  for (const ProgramSegment& segment : program.segments) team = std::max(team, segment.participants);
  return team;
}

/// Spins until `ready()`; gives the processor away after a while.
template <class Ready>
void spin_until(Ready ready) {
  for (int round = 0; !ready(); ++round) {
    if (round < kSpinRounds)
      pause();
    else
      sched_yield();
  }
}

/// Subnormal numbers count as zero while this lives: they cost a hundred times a number's time, and are none of the
/// answer. Kernels of all tiers and threads see the same mode.
class FlushSubnormals {
 public:
#if defined(__x86_64__)
  FlushSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | kFlushToZero | kSubnormalsAreZero); }
  ~FlushSubnormals() { _mm_setcsr(saved_); }

 private:
  static constexpr unsigned kFlushToZero = 0x8000, kSubnormalsAreZero = 0x0040;
  unsigned saved_;
#endif
};

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void Barrier::wait() {
  const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1, std::memory_order_release);
    return;
  }
  spin_until([&] { return generation_.load(std::memory_order_acquire) != generation; });
}

Executor::Executor(std::shared_ptr<const Program> program)
    : program_(std::move(program)),
      arena_(static_cast<std::size_t>(program_->arena_bytes)),
      team_(team_of(*program_)),
      barrier_(team_) {
  const auto threads = static_cast<std::size_t>(program_->threads);
  bases_.assign(program_->base_count(), nullptr);
  bases_[Program::kArena] = arena_.data();
  const std::size_t first_constant = program_->base_count() - program_->constants.size();
  for (std::size_t i = 0; i < program_->constants.size(); ++i)
    bases_[first_constant + i] = const_cast<std::byte*>(program_->constants[i]);
  pointers_.assign(threads, std::vector<const float*>(program_->pointer_count + 1));
  progress_ = std::make_unique<Progress[]>(threads * program_->ops.size());
  events_.resize(threads);
}

void Executor::set_profiling(bool on) {
  profiling_ = on;
  profiled_runs_ = 0;
  for (auto& events : events_) events.clear();
}

void Executor::run(std::span<const void* const> inputs, std::span<void* const> outputs) {
  ++run_count_;
  const std::size_t first_output = Program::kFirstInput + inputs.size();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    bases_[Program::kFirstInput + i] = static_cast<std::byte*>(const_cast<void*>(inputs[i]));
  for (std::size_t i = 0; i < outputs.size(); ++i) bases_[first_output + i] = static_cast<std::byte*>(outputs[i]);
  failed_.store(false, std::memory_order_relaxed);
  if (team_ == 1) {
    run_thread(0);
  } else {
#pragma omp parallel num_threads(team_)
    run_thread(omp_get_thread_num());
  }
  if (profiling_) ++profiled_runs_;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  for (const OutputCopy& copy : program_->copies) {
    if (copy.bytes == 0) continue;
    std::memcpy(bases_[first_output + static_cast<std::size_t>(copy.output)],
                bases_[static_cast<std::size_t>(copy.base)] + copy.offset, static_cast<std::size_t>(copy.bytes));
  }
}

void Executor::run_thread(int thread) {
  const FlushSubnormals mode;
  const auto& segments = program_->segments;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (!failed_.load(std::memory_order_relaxed)) run_segment(i, thread);
    const bool alone = segments[i].participants == 1 && (i + 1 == segments.size() || segments[i + 1].participants == 1);
    if (team_ > 1 && !alone) barrier_.wait();
  }
}

void Executor::run_segment(std::size_t index, int thread) {
  const ProgramSegment& segment = program_->segments[index];
  const auto strips = std::max<std::int64_t>(1, static_cast<std::int64_t>(segment.strip_views.size()));
  if (segment.share_images) {
    for (std::int64_t image = thread; image < segment.images; image += team_)
      for (std::int64_t strip = 0; strip < strips; ++strip)
        run_list(index, segment.threads.front(), image * strips + strip, thread);
    return;
  }
  for (std::int64_t round = 0; round < segment.images * strips; ++round) {
    if (thread < segment.participants)
      run_list(index, segment.threads[static_cast<std::size_t>(thread)], round, thread);
    if (segment.participants > 1 && round + 1 < segment.images * strips) barrier_.wait();
  }
}

void Executor::run_list(std::size_t segment_index, const std::vector<Instruction>& list, std::int64_t round,
                        int thread) {
  const ProgramSegment& segment = program_->segments[segment_index];
  StepContext step;
  step.bases = bases_.data();
  const auto strips = static_cast<std::int64_t>(segment.strip_views.size());
  const auto& views = strips > 0 ? segment.strip_views[static_cast<std::size_t>(round % strips)] : program_->views;
  step.views = views[static_cast<std::size_t>(thread)].data();
  step.image = strips > 0 ? round / strips : round;
  step.pointers = pointers_[static_cast<std::size_t>(thread)].data();
  step.scratch =
      reinterpret_cast<float*>(bases_[Program::kArena] + segment.scratch_offset + thread * segment.scratch_bytes);
  for (const Instruction& instruction : list) {
    if (instruction.kind == Instruction::Kind::wait) {
      const std::uint64_t token = epoch(round) + static_cast<std::uint64_t>(instruction.row_end);
      const auto& flag = progress(thread + 1, instruction.op).token;
      spin_until(
          [&] { return flag.load(std::memory_order_acquire) >= token || failed_.load(std::memory_order_relaxed); });
      continue;
    }
    step.row_begin = instruction.row_begin;
    step.row_end = instruction.row_end;
    step.chunk = instruction.chunk;
    const std::int64_t begin = profiling_ ? now_ns() : 0;
    try {
      program_->ops[static_cast<std::size_t>(instruction.op)]->run(step);
    } catch (...) {
      return record_failure();
    }
    if (profiling_)
      events_[static_cast<std::size_t>(thread)].push_back(
          {instruction.op, static_cast<std::int32_t>(segment_index), begin, now_ns()});
    if (instruction.publish)
      progress(thread, instruction.op)
          .token.store(epoch(round) + static_cast<std::uint64_t>(instruction.row_end), std::memory_order_release);
  }
}

void Executor::record_failure() noexcept {
  if (!failed_.exchange(true)) failure_ = std::current_exception();
}

}  // namespace colonnade
