// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/turns.hpp"

#include <algorithm>
#include <bit>

namespace colonnade::serve {
namespace {

/// How fast the expected time of a run follows the measured ones.
constexpr int kMemory = 8;
/// A run that takes less is not worth waking a thread for: that takes as long on some machines.
constexpr double kBriefNs = 100'000;
/// Kinds of run of which a line knows what they take.
constexpr std::size_t kMostKinds = 64;

}  // namespace

template <class Action>
void Turns::change(Line& line, Clock::time_point now, const Action& action) {
  const std::size_t before = line.queue_.size();
  action(line.queue_);
  const std::size_t after = line.queue_.size();
  pending_ = pending_ + after - before;
  if ((after > 0) != line.listed_) {
    line.listed_ = after > 0;
    if (line.listed_) {
      // Who was away has saved no time up.
      if (line.running_ == 0) line.used_ = std::max(line.used_, used_now_);
      waiting_.push_back(&line);
    } else {
      std::erase(waiting_, &line);
    }
  }
  alarm_ = std::min(alarm_, line.queue_.alarm(now));
  note_if_settled(line);
}

void Turns::note_if_settled(const Line& line) {
  if ((line.closed_ || closed_) && is_settled(line)) has_settled_ = true;
}

std::optional<Status> Turns::refusal(const Line& line) const {
  if (closed_) return Status{Code::unavailable, "the server is shutting down"};
  if (line.closed_) return Status{Code::unavailable, "the model is being unloaded"};
  if (most_pending_ > 0 && pending_ >= most_pending_)
    return Status{Code::resource_exhausted, "Exceeds maximum queue size: too many requests are waiting for all models"};
  return std::nullopt;
}

Turns::Pushed Turns::push(Line& line, JobPtr& job, Clock::time_point now) {
  Pushed pushed;
  pushed.refused = refusal(line);
  if (pushed.refused) return pushed;
  std::vector<JobPtr> gone;
  change(line, now, [&](Queue& queue) { pushed.refused = queue.push(job, gone); });
  hold(pushed.gone, line, std::move(gone));
  if (pushed.refused || !may_run(line, now)) return pushed;
  pushed.brief = is_brief(line, parts_now());
  if (!pushed.brief) call();
  return pushed;
}

int Turns::parts_now() const {
  std::size_t runs = static_cast<std::size_t>(running_);
  for (const Line* line : waiting_) {
    const int idle = line->queue_.policy().instances - line->running_;
    runs += std::min(line->queue_.runs(), static_cast<std::size_t>(std::max(0, idle)));
  }
  return static_cast<int>(std::bit_ceil(std::min(runs, static_cast<std::size_t>(streams_))));
}

bool Turns::may_run(const Line& line, Clock::time_point now) const {
  const bool has_room = running_ < streams_ ? line.running_ < line.queue_.policy().instances : line.running_ == 0;
  return has_room && line.queue_.is_ready(now);
}

Line* Turns::choose(Clock::time_point now) const {
  Line* chosen = nullptr;
  for (Line* line : waiting_)
    if ((chosen == nullptr || line->used_ < chosen->used_) && may_run(*line, now)) chosen = line;
  return chosen;
}

const Line::Measured* Turns::find(const Line& line, std::uint64_t form, std::int64_t samples, int parts) {
  const auto found = std::find_if(line.measured_.begin(), line.measured_.end(), [&](const Line::Measured& kind) {
    return kind.form == form && kind.samples == samples && kind.parts == parts;
  });
  return found == line.measured_.end() ? nullptr : &*found;
}

void Turns::learn(Line& line, const Turn& turn, std::chrono::nanoseconds took) {
  const auto ns = static_cast<double>(took.count());
  if (const Line::Measured* known = find(line, turn.form, turn.samples, turn.parts)) {
    double& kept = line.measured_[static_cast<std::size_t>(known - line.measured_.data())].ns;
    if (kept == 0) kept = ns;
    // One run that was interrupted says little: a step is at most a part of what was known.
    kept += std::clamp(ns - kept, -kept / kMemory, kept / kMemory);
    return;
  }
  const Line::Measured first{turn.form, turn.samples, turn.parts, ns};
  if (line.measured_.size() < kMostKinds) return line.measured_.push_back(first);
  line.measured_[line.oldest_] = first;
  line.oldest_ = (line.oldest_ + 1) % kMostKinds;
}

bool Turns::is_brief(const Line& line, const Job& first, std::int64_t samples, int parts) {
  if (!line.queue_.policy().may_be_brief) return false;
  const Line::Measured* const known = find(line, first.form, samples, parts);
  return known != nullptr && known->ns > 0 && known->ns < kBriefNs;
}

bool Turns::is_brief(const Line& line, int parts) {
  const Job* const first = line.queue_.first();
  return first != nullptr && is_brief(line, *first, first->samples, parts);
}

void Turns::call() {
  if (idle_ == 0) return;
  --idle_;
  ++called_;
}

void Turns::call_if_ready(Clock::time_point now) {
  if (idle_ > 0 && choose(now) != nullptr) call();
}

std::optional<Turns::Turn> Turns::next(Clock::time_point now) {
  Line* const line = choose(now);
  if (line == nullptr) return std::nullopt;
  Turn turn = begin(*line, now);
  call_if_ready(now);
  return turn;
}

std::optional<Turns::Turn> Turns::next_brief(Clock::time_point now) {
  Line* const line = choose(now);
  const int parts = parts_now();
  if (line == nullptr || !is_brief(*line, parts)) return std::nullopt;
  return begin(*line, now, parts);
}

Turns::Turn Turns::begin(Line& line, Clock::time_point now, int brief_parts) {
  Turn turn;
  turn.line = &line;
  turn.charged = line.expected_;
  const int more_runs = line.queue_.policy().instances - line.running_ - 1;
  const auto runs = static_cast<std::size_t>(1 + std::min(idle_, std::max(0, more_runs)));
  ++line.running_;
  ++running_;
  Queue::Fits fits;
  if (brief_parts > 0)
    fits = [&](const Job& first, std::int64_t samples) { return is_brief(line, first, samples, brief_parts); };
  change(line, now, [&](Queue& queue) { turn.batch = queue.take(now, runs, turn.gone, fits); });
  used_now_ = std::max(used_now_, line.used_);
  line.used_ += turn.charged;
  turn.parts = brief_parts > 0 ? brief_parts : parts_now();
  for (const JobPtr& job : turn.batch) turn.samples += job->samples;
  if (!turn.batch.empty()) turn.form = turn.batch.front()->form;
  return turn;
}

void Turns::finish(const Turn& turn, std::chrono::nanoseconds took) {
  Line& line = *turn.line;
  line.used_ -= turn.charged;
  if (turn.samples > 0) {
    const std::chrono::nanoseconds cost = took / turn.parts;
    line.used_ += cost;
    line.queue_.learn(turn.samples, cost);
    line.expected_ = line.expected_.count() == 0 ? cost : line.expected_ + (cost - line.expected_) / kMemory;
    learn(line, turn, took);
  }
  --line.running_;
  --running_;
  note_if_settled(line);
}

template <class Action>
Turns::Gone Turns::take_out(Clock::time_point now, const Action& action) {
  Gone all;
  for (Line* line : std::vector<Line*>(waiting_)) {
    std::vector<JobPtr> gone;
    change(*line, now, [&](Queue& queue) { action(queue, gone); });
    hold(all, *line, std::move(gone));
  }
  return all;
}

Turns::Gone Turns::look(Clock::time_point now) {
  alarm_ = Clock::time_point::max();
  Gone all = take_out(now, [&](Queue& queue, std::vector<JobPtr>& gone) { queue.expire(now, gone); });
  call_if_ready(now);
  return all;
}

Turns::Gone Turns::take_all(Clock::time_point now) {
  return take_out(now, [](Queue& queue, std::vector<JobPtr>& gone) { queue.take_all(gone); });
}

void Turns::hold(Line& line, int change) {
  line.held_ += change;
  held_ += change;
  note_if_settled(line);
}

void Turns::hold(Gone& gone, Line& line, std::vector<JobPtr> jobs) {
  if (jobs.empty()) return;
  hold(line, 1);
  gone.emplace_back(&line, std::move(jobs));
}

}  // namespace colonnade::serve
