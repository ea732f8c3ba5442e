// SPDX-License-Identifier: Apache-2.0
// A few requests, threads that may be as late as they like, and a clock, on paper.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "frontends/server/turns.hpp"

namespace colonnade::serve {

using std::chrono::milliseconds;

inline const Clock::time_point kStart = Clock::time_point() + std::chrono::hours(1);
constexpr milliseconds kTick{10};

struct Visitor {
  std::size_t line = 0;
  std::int64_t samples = 1;
  std::uint32_t priority = 0;
  milliseconds timeout{0};
  bool may_leave = false;
};

struct Setting {
  std::vector<QueuePolicy> lines;
  std::vector<Visitor> visitors;  ///< come in any order
  int streams = 1;
  int ticks = 3;  ///< how long events are tried; later everybody is on time
  bool brief = false;
};

/// Takes no part: the world answers.
class NoRunner : public Runner {
 public:
  void run(std::vector<JobPtr>, int, const std::stop_token&) override {}
  void refuse(JobPtr, const Status&) override {}
};

/// What may happen next.
struct Event {
  enum Kind { arrive, leave, worker, bringer, bringer_gives_up, finish, clock, tick } kind;
  std::size_t which = 0;
};

class World {
 public:
  explicit World(const Setting& setting)
      : setting_(setting), turns_(setting.streams, 0), seen_(setting.visitors.size()) {
    for (const QueuePolicy& policy : setting.lines) {
      lines_.push_back(std::make_unique<Line>(policy, runner_));
      looked_.emplace_back();
    }
    for (int i = 0; i < setting.streams + 1; ++i) turns_.rest();
  }

  std::vector<Event> events() const {
    std::vector<Event> all;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (seen_[i].state == State::outside) all.push_back({Event::arrive, i});
      if (seen_[i].state != State::outside && setting_.visitors[i].may_leave && !seen_[i].stop.stop_requested())
        all.push_back({Event::leave, i});
    }
    if (awake_ > 0) all.push_back({Event::worker});
    if (bringers_ > 0) all.push_back({Event::bringer});
    if (bringers_ > 0) all.push_back({Event::bringer_gives_up});
    for (std::size_t i = 0; i < running_.size(); ++i) all.push_back({Event::finish, i});
    if (turns_.alarm() <= now_) all.push_back({Event::clock});
    if (now_ < kStart + setting_.ticks * kTick) all.push_back({Event::tick});
    return all;
  }

  void apply(const Event& event) {
    switch (event.kind) {
      case Event::arrive: arrive(event.which); break;
      case Event::leave: seen_[event.which].stop.request_stop(); break;
      case Event::worker: worker_looks(); break;
      case Event::bringer: bringer_looks(); break;
      case Event::bringer_gives_up: give_up(); break;
      case Event::finish: finish(event.which); break;
      case Event::clock: clock_looks(); break;
      case Event::tick: now_ += kTick; break;
    }
    while (turns_.called()) ++awake_;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const auto listed = std::find(listed_.begin(), listed_.end(), i);
      if (lines_[i]->queue().size() == 0 && listed != listed_.end()) listed_.erase(listed);
      if (lines_[i]->queue().size() > 0 && listed == listed_.end()) listed_.push_back(i);
    }
  }

  /// What must hold whenever nobody holds the lock.
  void check() const {
    std::size_t waiting = 0;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      const Seen& seen = seen_[i];
      ASSERT_LE(seen.answers, 1) << "answered twice: " << i;
      ASSERT_EQ(seen.answers == 1, seen.state == State::answered);
      if (seen.state != State::waiting) continue;
      ++waiting;
      const Visitor& visitor = setting_.visitors[i];
      ASSERT_LE(turns_.alarm(), std::max(seen.deadline, now_ + kExpireStep))
          << "nobody tells " << i << " of its time-out";
      if (visitor.may_leave) {
        ASSERT_LE(turns_.alarm(), now_ + kLeaversStep) << "nobody sees " << i << " leave";
      }
      if (awake_ > 0 || bringers_ > 0 || !has_room(visitor.line)) continue;
      ASSERT_LE(turns_.alarm(), std::max(now_, ripe(i))) << "nobody wakes up for " << i;
    }
    ASSERT_EQ(turns_.pending(), waiting);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      ASSERT_LE(running_of(i), setting_.lines[i].instances);
      if (awake_ > 0 || bringers_ > 0 || !has_room(i) || !lines_[i]->queue().is_ready(now_)) continue;
      ASSERT_LE(turns_.alarm(), now_) << "a batch is ready and nobody comes";
    }
  }

  /// From now on everybody is on time and runs take none: who waits must be answered when he is ripe.
  void end_well() {
    const Clock::time_point begin = now_;
    for (int step = 0; turns_.pending() > 0 || !running_.empty() || awake_ > 0 || bringers_ > 0; ++step) {
      ASSERT_LT(step, 1000) << "no end";
      if (awake_ > 0) {
        apply({Event::worker});
      } else if (bringers_ > 0) {
        apply({Event::bringer});
      } else if (!running_.empty()) {
        apply({Event::finish, 0});
      } else {
        ASSERT_NE(turns_.alarm(), Clock::time_point::max()) << "somebody waits without an alarm";
        now_ = std::max(now_, turns_.alarm());
        apply({Event::clock});
      }
    }
    ASSERT_TRUE(turns_.is_settled());
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (seen_[i].state == State::outside) continue;
      ASSERT_EQ(seen_[i].answers, 1) << i << " was lost";
      ASSERT_LE(seen_[i].answered, std::max(begin, ripe(i))) << i << " waited longer than it may";
    }
  }

  /// Equal for states from which the same can happen. What Turns and Queue remember follows from this: when the clock
  /// looked last, whom it saw, who came since, in which order lines began to wait.
  std::string key() const {
    std::string key;
    const auto add = [&](auto value) { key.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
    add(now_);
    add(turns_.alarm());
    add(awake_);
    add(bringers_);
    for (const Seen& seen : seen_) {
      add(seen.state);
      add(seen.state == State::waiting ? seen.queued : kStart);
      add(seen.stop.stop_requested());
    }
    for (const Running& run : running_) {
      add(run.by_bringer ? 'b' : 'w');
      for (const JobPtr& job : run.turn.batch) add(index_of(*job));
    }
    for (const Looked& looked : looked_) {
      add('l');
      add(looked.at);
      for (const std::size_t i : looked.saw) add(i);
      add('s');
      for (const std::size_t i : looked.came_since) add(i);
    }
    for (const std::size_t line : listed_) add(line);
    add(has_run_);
    for (const auto& [line, samples, parts] : measured_) {
      add('m');
      add(line);
      add(samples);
      add(parts);
    }
    return key;
  }

 private:
  enum class State : std::uint8_t { outside, waiting, running, answered };
  struct Seen {
    State state = State::outside;
    int answers = 0;
    Clock::time_point queued, answered, deadline = Clock::time_point::max();
    std::stop_source stop;
  };
  struct Running {
    Turns::Turn turn;
    bool by_bringer = false;
  };
  /// Of a queue since it was empty.
  struct Looked {
    Clock::time_point at;
    std::vector<std::size_t> saw, came_since;
  };

  static std::size_t index_of(const Job& job) { return static_cast<std::size_t>(std::stoi(job.request.id)); }
  Clock::time_point ripe(std::size_t i) const {
    return seen_[i].queued + setting_.lines[setting_.visitors[i].line].delay;
  }

  int running_of(std::size_t line) const {
    return static_cast<int>(std::count_if(running_.begin(), running_.end(),
                                          [&](const Running& run) { return run.turn.line == lines_[line].get(); }));
  }
  bool has_room(std::size_t line) const {
    const int most = static_cast<int>(running_.size()) < setting_.streams ? setting_.lines[line].instances : 1;
    return running_of(line) < most;
  }

  void arrive(std::size_t i) {
    const Visitor& visitor = setting_.visitors[i];
    Seen& seen = seen_[i];
    auto job = std::make_unique<Job>();
    job->request.id = std::to_string(i);
    job->request.priority = visitor.priority;
    job->request.timeout = visitor.timeout;
    job->request.received = job->queued = seen.queued = now_;
    if (visitor.may_leave) job->request.stop = seen.stop.get_token();
    job->inputs.emplace_back(DType::f32, Shape{visitor.samples, 4}, nullptr);
    job->samples = visitor.samples;
    const QueuePolicy& policy = setting_.lines[visitor.line];
    const LevelPolicy& level = policy.levels[std::max<std::uint32_t>(1, visitor.priority) - 1];
    if (visitor.timeout.count() > 0 && !level.delay) seen.deadline = now_ + visitor.timeout;
    seen.state = State::waiting;
    if (lines_[visitor.line]->queue().size() == 0) looked_[visitor.line] = {};
    looked_[visitor.line].came_since.push_back(i);
    Turns::Pushed pushed = turns_.push(*lines_[visitor.line], job, now_);
    ASSERT_FALSE(pushed.refused);
    if (pushed.brief) ++bringers_;
    refuse(pushed.gone);
  }

  void answer(const Job& job) {
    Seen& seen = seen_[index_of(job)];
    ++seen.answers;
    seen.state = State::answered;
    seen.answered = now_;
  }

  void refuse(const Turns::Gone& gone) {
    for (const auto& [line, jobs] : gone) {
      for (const JobPtr& job : jobs) answer(*job);
      turns_.release(*line);
    }
  }

  void begin(Turns::Turn turn, bool by_bringer) {
    for (const JobPtr& job : turn.gone) answer(*job);
    for (const JobPtr& job : turn.batch) seen_[index_of(*job)].state = State::running;
    running_.push_back({std::move(turn), by_bringer});
  }

  void worker_looks() {
    --awake_;
    if (auto turn = turns_.next(now_)) return begin(std::move(*turn), false);
    turns_.rest();
  }

  void bringer_looks() {
    auto turn = turns_.next_brief(now_);
    if (!turn) return give_up();
    --bringers_;
    begin(std::move(*turn), true);
  }

  void give_up() {
    --bringers_;
    turns_.call_if_ready(now_);
  }

  void finish(std::size_t which) {
    const Running run = std::move(running_[which]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(which));
    ++(run.by_bringer ? bringers_ : awake_);
    for (const JobPtr& job : run.turn.batch) answer(*job);
    has_run_ = has_run_ || !run.turn.batch.empty();
    std::size_t line = 0;
    while (lines_[line].get() != run.turn.line) ++line;
    if (setting_.brief && run.turn.samples > 0) measured_.emplace(line, run.turn.samples, run.turn.parts);
    turns_.finish(run.turn, std::chrono::nanoseconds(setting_.brief ? 1 : 0));
  }

  void clock_looks() {
    refuse(turns_.look(now_));
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      if (lines_[line]->queue().size() == 0) continue;
      looked_[line] = {now_, {}, {}};
      for (std::size_t i = 0; i < seen_.size(); ++i)
        if (setting_.visitors[i].line == line && seen_[i].state == State::waiting) looked_[line].saw.push_back(i);
    }
  }

  const Setting& setting_;
  NoRunner runner_;
  std::vector<std::unique_ptr<Line>> lines_;
  Turns turns_;
  Clock::time_point now_ = kStart;
  std::vector<Seen> seen_;
  std::vector<Running> running_;
  std::vector<Looked> looked_;
  std::vector<std::size_t> listed_;
  int awake_ = 0;     ///< workers that were called or have finished a run, and have not looked yet
  int bringers_ = 0;  ///< threads that brought something brief, or have finished a run, and have not looked yet
  bool has_run_ = false;
  std::set<std::tuple<std::size_t, std::int64_t, int>> measured_;  ///< kinds of run, whose times Turns knows
};

}  // namespace colonnade::serve
