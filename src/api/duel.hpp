// SPDX-License-Identifier: Apache-2.0
// Which of two plans of one shape is faster, found out by runs that callers make anyway. Both give the same bits.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace colonnade {

struct Prepared;

/// The two plans of a duel: the one that was predicted to be the fastest, and the one after it.
enum class Side : std::uint8_t { predicted, runner_up };
constexpr std::size_t index_of(Side side) { return side == Side::predicted ? 0 : 1; }

/// How a duel ended.
struct Verdict {
  Side winner = Side::predicted;
  double gain = 0;         ///< share of the loser's time that the winner saves
  int runs = 0;            ///< that were timed; 0: there was no runner-up
  std::string loser = {};  ///< outline of its plan
};

/// Times of runs of both sides. A plain value: no clock, no threads.
class Scores {
 public:
  /// Whose run comes next: they take turns.
  Side next() const;
  void add(Side side, double ms);
  /// When both have runs enough: the better median wins.
  std::optional<Verdict> verdict() const;

 private:
  std::array<std::vector<double>, 2> times_;
};

/// The duel of a plan with its runner-up. Any thread; without locks once it is over.
class Duel {
 public:
  enum class State : std::uint8_t {
    waiting,  ///< until the shape has been run for long enough: making another plan must not cost much more
    opening,  ///< somebody makes the runner-up
    open,
    kept,  ///< over: the plan goes on
    lost,  ///< over: the runner-up goes on
  };

  /// `plan_ms`: what making the plan took.
  explicit Duel(double plan_ms) : plan_ms_(plan_ms) {}

  State state() const noexcept { return state_.load(std::memory_order_acquire); }
  bool is_over() const noexcept { return state() >= State::kept; }
  /// Counts a run while the duel waits. True: the caller is to make the runner-up, nobody else is told so.
  bool ripens(double ms);
  /// Null: there is none that is near enough.
  void open(std::shared_ptr<const Prepared> runner_up);

  /// The plan goes on: an open duel cannot be held.
  void give_up();

  /// While it is open: whose run comes next.
  Side next() const;
  /// A warm run of a side. True: it has decided; the caller was the one to see it first.
  bool record(Side side, double ms);

  std::shared_ptr<const Prepared> runner_up() const;
  /// When it has lost: gives its memory back.
  void drop_runner_up();
  std::optional<Verdict> verdict() const;

 private:
  const double plan_ms_;
  std::atomic<State> state_{State::waiting};
  mutable std::mutex mutex_;  ///< of what follows
  int runs_ = 0;
  double run_ms_ = 0;
  Scores scores_;
  std::optional<Verdict> verdict_;
  std::shared_ptr<const Prepared> runner_up_;
};

}  // namespace colonnade
