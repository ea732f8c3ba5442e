// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/interruption.hpp"
#include "base/subnormals.hpp"
#include "kernels/base/copy.hpp"

namespace colonnade {
namespace {

/// Rows of the next list are on their way: longer than waking up takes, shorter than a time slice.
constexpr std::chrono::microseconds kSpinForRows{200};

/// Lists of the widest segment: a network too small to share takes no workers.
int team_of(const Program& program) {
  int team = 1;
  for (const ProgramSegment& segment : program.segments) team = std::max(team, segment.participants);
  return team;
}

std::uint64_t strips_of(const ProgramSegment& segment) {
  return std::max<std::uint64_t>(1, segment.strip_views.size());
}

/// A round is one strip of one image, or a turn; a thread that is alone takes all turns in one.
std::uint64_t rounds_of(const ProgramSegment& segment) {
  if (segment.turns > 1) return segment.participants > 1 ? static_cast<std::uint64_t>(segment.turns) : 1;
  return static_cast<std::uint64_t>(segment.images) * strips_of(segment);
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Executor::Executor(std::shared_ptr<const Program> program, std::shared_ptr<Arena> arena, Workers* workers)
    : program_(std::move(program)),
      arena_(arena ? std::move(arena) : std::make_shared<Arena>()),
      copy_(copy_of(program_)),
      team_(team_of(*program_)),
      workers_(workers) {
  const auto threads = static_cast<std::size_t>(program_->threads);
  arena_->reserve(arena_bytes());
  pointers_.assign(threads, std::vector<const float*>(program_->pointer_count + 1));
  progress_ = std::make_unique<Progress[]>(threads * program_->ops.size());
  bells_ = std::make_unique<Bell[]>(threads);
  events_.resize(threads);
  strip_views_.resize(threads);
  for (const ProgramSegment& segment : program_->segments) {
    rounds_ = std::max(rounds_, rounds_of(segment));
    if (segment.strip_views.empty()) continue;
    for (std::size_t list = 0; list < threads; ++list) strip_views_[list].resize(program_->views[list].items.size());
  }
}

Executor::Copy Executor::copy_of(std::shared_ptr<const Program> program) {
  std::vector<std::byte*> bases(program->base_count(), nullptr);
  const std::size_t first_constant = bases.size() - program->constants.size();
  for (std::size_t i = 0; i < program->constants.size(); ++i)
    bases[first_constant + i] = const_cast<std::byte*>(program->constants[i]);
  return {std::move(program), std::move(bases)};
}

void Executor::set_bases(Copy& copy, std::span<const void* const> inputs, std::span<void* const> outputs) const {
  copy.bases[Program::kArena] = arena_->data();
  const std::size_t first_output = Program::kFirstInput + inputs.size();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    copy.bases[Program::kFirstInput + i] = static_cast<std::byte*>(const_cast<void*>(inputs[i]));
  for (std::size_t i = 0; i < outputs.size(); ++i) copy.bases[first_output + i] = static_cast<std::byte*>(outputs[i]);
}

void Executor::set_elsewhere(const NodePrograms& programs) {
  for (const auto& [node, program] : programs) elsewhere_.insert_or_assign(node, copy_of(program));
}

void Executor::set_profiling(bool on) {
  profiling_ = on;
  profiled_runs_ = 0;
  for (auto& events : events_) events.clear();
}

/// Counts the rounds of the run before; starts again before the count is full.
void Executor::begin_rounds() {
  first_round_ += rounds_;
  if (first_round_ + rounds_ < kMaxRounds) return;
  first_round_ = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(program_->threads) * program_->ops.size(); ++i)
    progress_[i].token.store(0, std::memory_order_relaxed);
}

void Executor::run(std::span<const void* const> inputs, std::span<void* const> outputs, const RunControl& control) {
  control.check();
  control_ = &control;
  begin_rounds();
  arena_->reserve(arena_bytes());
  set_bases(copy_, inputs, outputs);
  for (auto& item : elsewhere_) set_bases(item.second, inputs, outputs);
  failed_.store(false, std::memory_order_relaxed);
  workers().run(
      team_, [this](int thread, int threads) { run_thread(thread, threads); },
      program_->is_brief ? Workers::Sleepers::leave : Workers::Sleepers::wake, node_);
  if (profiling_) ++profiled_runs_;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  for (const OutputCopy& copy : program_->copies) {
    if (copy.bytes == 0) continue;
    kernels::copy_memory(outputs[static_cast<std::size_t>(copy.output)],
                         copy_.bases[static_cast<std::size_t>(copy.base)] + copy.offset,
                         static_cast<std::size_t>(copy.bytes));
  }
}

bool Executor::meet(const Thread& thread) {
  const bool failed = failed_.load(std::memory_order_relaxed);
  return thread.of == 1 ? !failed : barrier_.wait(thread.number, thread.of, failed);
}

void Executor::run_thread(int number, int threads) {
  const auto other = elsewhere_.empty() ? elsewhere_.end() : elsewhere_.find(workers().node_of_caller());
  const Thread thread{number, threads, other == elsewhere_.end() ? copy_ : other->second};
  const SubnormalMode mode(program_->keeps_subnormals);
  const std::function<void()> ask = [this] { control_->check(); };
  const Interruptible scope(ask);
  const auto& segments = program_->segments;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (number == 0 && i > 0) control_->poll_soon();
    if (!run_segment(i, thread)) return;
    if (i + 1 == segments.size()) return;
    const bool alone = segments[i].participants == 1 && segments[i + 1].participants == 1;
    if (!alone && !meet(thread)) return;
  }
}

bool Executor::run_segment(std::size_t index, const Thread& thread) {
  const int threads = thread.of;
  const ProgramSegment& segment = program_->segments[index];
  const auto rounds = static_cast<std::int64_t>(rounds_of(segment));
  const int lists = (segment.participants - thread.number + threads - 1) / threads,
            last = thread.number + (lists - 1) * threads;
  if (segment.share_rounds) {
    for (int list = last; list >= 0; list -= threads)
      for (std::int64_t round = list; round < rounds; round += segment.participants)
        run_list(index, list, round, thread);
    return true;
  }
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int list = last; list >= 0; list -= threads) run_list(index, list, round, thread);
    if (segment.participants > 1 && round + 1 < rounds && !meet(thread)) return false;
  }
  return true;
}

StepContext Executor::context_of(const ProgramSegment& segment, int list, std::int64_t round, const Copy& copy) {
  const auto number = static_cast<std::size_t>(list);
  const auto strips = static_cast<std::int64_t>(segment.strip_views.size());
  const bool in_turns = segment.turns > 1;
  std::byte* scratch = copy.bases[Program::kArena] + segment.scratch_offset;
  StepContext context;
  context.bases = copy.bases.data();
  context.views = views_of(*copy.program, segment, number, round, strip_views_[number]);
  context.image = in_turns ? 0 : strips > 0 ? round / strips : round;
  context.pointers = pointers_[number].data();
  context.scratch = reinterpret_cast<float*>(scratch + segment.shared_bytes + list * segment.scratch_bytes);
  context.turns = in_turns && segment.participants > 1 ? Interval{round, round + 1} : Interval{0, segment.turns};
  context.shared = reinterpret_cast<float*>(scratch);
  return context;
}

void Executor::run_list(std::size_t segment_index, int list, std::int64_t round, const Thread& thread) {
  const Program* program = thread.copy.program.get();
  const ProgramSegment& segment = program->segments[segment_index];
  const auto number = static_cast<std::size_t>(list);
  StepContext context = context_of(segment, list, round, thread.copy);
  for (const Step& step : segment.lists[segment.share_rounds ? 0 : number]) {
    if (failed_.load(std::memory_order_relaxed)) return;
    if (step.kind == Step::Kind::wait) {
      const std::uint64_t awaited = token(round, step.row_end);
      const auto& flag = progress(list + 1, step.node).token;
      bells_[number + 1].wait_for(kSpinForRows, [&] { return flag.load() >= awaited || failed_.load(); });
      continue;
    }
    context.row_begin = step.row_begin;
    context.row_end = step.row_end;
    context.chunk = step.chunk;
    const std::int64_t begin = profiling_ ? now_ns() : 0;
    try {
      control_->check();
      if (thread.number == 0) control_->poll();
      program->ops[step.node]->run(context);
      if (profiling_) events_[number].push_back({step.node, static_cast<std::int32_t>(segment_index), begin, now_ns()});
    } catch (...) {
      return record_failure();
    }
    if (!step.publish) continue;
    progress(list, step.node).token.store(token(round, step.row_end));
    bells_[number].ring();
  }
}

void Executor::record_failure() noexcept {
  if (!failed_.exchange(true)) failure_ = std::current_exception();
  for (int list = 0; list < program_->threads; ++list) bells_[static_cast<std::size_t>(list)].ring();
}

}  // namespace colonnade
