// SPDX-License-Identifier: Apache-2.0
// What a model has to do with the duels of its plans: it makes the runners-up and remembers who won.
#include "api/impl.hpp"
#include "base/interruption.hpp"
#include "base/log.hpp"

namespace colonnade {
namespace {

constexpr int kMostDuels = 8;  // of a model: one of many shapes does not plan each of them twice

}  // namespace

/// Off where a schedule or a limit of memory is asked for, where plans are kept in a file, for bodies of loops and
/// where a part of the graph runs apart from plans.
bool Model::Impl::may_duel(const Prepared& prepared) const {
  return options.duel && options.schedule == Schedule::automatic && options.memory_limit_bytes == 0 && !compiled &&
         prepared.source == optimized && !prepared.rest && duels_ < kMostDuels && find_verdict(prepared) == nullptr;
}

const Verdict* Model::Impl::find_verdict(const PlanKey& key) const {
  for (const auto& [known, verdict] : verdicts_)
    if (known == key) return &verdict;
  return nullptr;
}

std::optional<Verdict> Model::Impl::verdict_of(const PlanKey& key) const {
  const std::lock_guard lock(mutex_);
  const Verdict* verdict = find_verdict(key);
  return verdict == nullptr || verdict->runs == 0 ? std::nullopt : std::optional(*verdict);
}

std::shared_ptr<Prepared> Model::Impl::prepared_as(const Prepared& predicted, Plan runner_up) const {
  auto made = std::make_shared<Prepared>();
  static_cast<PlanKey&>(*made) = predicted;
  made->graph = predicted.graph;
  made->plan = std::move(runner_up);
  compile_for(*made);
  made->bytes = predicted.bytes;
  made->milliseconds = predicted.milliseconds;
  return made;
}

void Model::Impl::open_duel(const Prepared& predicted, const RunControl& control) const {
  const std::function<void()> ask = [&] { control.check(); };
  const Interruptible scope(ask);
  std::shared_ptr<const Prepared> runner_up;
  try {
    const bool is_one_more = [&] {
      const std::lock_guard lock(mutex_);
      return duels_++ < kMostDuels;
    }();
    if (!is_one_more) return predicted.duel->open(nullptr);
    if (auto plan = make_runner_up(predicted.graph, topology, predicted.plan)) {
      runner_up = prepared_as(predicted, *std::move(plan));
    } else {
      const std::lock_guard lock(mutex_);
      verdicts_.emplace_front(predicted, Verdict{});
    }
  } catch (const std::exception& error) {
    log_line(LogLevel::info, "model '{}': no runner-up was made: {}", name, error.what());
  }
  if (runner_up)
    log_line(LogLevel::debug, "model '{}': a duel of {} and {}", name, outline(predicted.plan),
             outline(runner_up->plan));
  predicted.duel->open(std::move(runner_up));
}

void Model::Impl::end_duel(const Prepared& predicted) const {
  const std::lock_guard lock(mutex_);
  const auto runner_up = predicted.duel->runner_up();
  Verdict verdict = *predicted.duel->verdict();
  const bool is_kept = verdict.winner == Side::predicted;
  verdict.loser = outline(is_kept ? runner_up->plan : predicted.plan);
  log_line(LogLevel::info, "model '{}': {} won a duel against {} by {:.0f} % ({} runs)", name,
           outline(is_kept ? predicted.plan : runner_up->plan), verdict.loser, 100 * verdict.gain, verdict.runs);
  verdicts_.emplace_front(predicted, std::move(verdict));
  if (is_kept) return predicted.duel->drop_runner_up();
  prepared_.push_back(runner_up);
}

}  // namespace colonnade
