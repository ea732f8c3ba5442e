// SPDX-License-Identifier: Apache-2.0
#include "api/entry.hpp"

#include <chrono>
#include <utility>

namespace colonnade {

std::unique_ptr<Executor> Entry::executor_for(const Prepared& plan) const {
  auto made = std::make_unique<Executor>(plan.program, arena_);
  made->set_node(node_);
  made->set_elsewhere(plan.elsewhere);
  return made;
}

void Entry::take_part() {
  const auto plan = prepared->duel->runner_up();
  if (rival_ || !plan) return;
  rival_ = executor_for(*plan);
  is_warm_ = {};
}

void Entry::take_winner() {
  if (prepared->duel->state() == Duel::State::lost) {
    auto winner = prepared->duel->runner_up();
    executor = rival_ ? std::move(rival_) : executor_for(*winner);
    prepared = std::move(winner);
  }
  rival_.reset();
}

void Entry::follow_duel(const RunControl& control) noexcept {
  if (!prepared->duel || profiling_) return;
  try {
    if (prepared->duel->is_over()) return take_winner();
    if (prepared->duel->state() == Duel::State::open && !control.has_deadline()) take_part();
  } catch (const std::exception&) {
    prepared->duel->give_up();
  }
}

double Entry::timed(Executor& executor, std::span<const void* const> inputs, std::span<void* const> outputs,
                    const RunControl& control) {
  const auto begin = std::chrono::steady_clock::now();
  executor.run(inputs, outputs, control);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

void Entry::run(const Model::Impl& model, std::span<const void* const> inputs, std::span<void* const> outputs,
                const RunControl& control) {
  Duel* const duel = prepared->duel.get();
  if (duel == nullptr || duel->is_over() || profiling_ || control.has_deadline())
    return executor->run(inputs, outputs, control);
  if (!rival_) {
    if (duel->ripens(timed(*executor, inputs, outputs, control))) model.open_duel(*prepared, control);
    return;
  }
  const Side side = duel->next();
  const double ms = timed(side == Side::predicted ? *executor : *rival_, inputs, outputs, control);
  const bool counts = std::exchange(is_warm_[index_of(side)], true);
  if (counts && duel->record(side, ms)) model.end_duel(*prepared);
}

void Entry::set_profiling(bool on) {
  profiling_ = on;
  executor->set_profiling(on);
}

}  // namespace colonnade
