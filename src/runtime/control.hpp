// SPDX-License-Identifier: Apache-2.0
// How a run ends before it is done.
#pragma once

#include <chrono>
#include <cstdint>

#include "colonnade/colonnade.hpp"

namespace colonnade {

/// The options of one run and what it has used of them. The options must outlive it.
class RunControl {
 public:
  explicit RunControl(const RunOptions& options)
      : options_(options), has_deadline_(options.deadline != Clock::time_point::max()), has_poll_(options.poll) {}

  /// That the run asks for; 0: the model's.
  int threads() const { return options_.threads; }
  bool has_deadline() const { return has_deadline_; }
  /// The run is to end. Any thread; cheap, as it is asked before every step.
  bool is_over() const { return options_.stop.stop_requested() || is_late(); }
  /// Throws Error{cancelled} or Error{deadline} when the run is to end.
  void check() const {
    if (is_over()) end();
  }
  /// By the thread that called: now and then asks `poll` of the options, whose exceptions pass. Nearly free.
  void poll() const {
    if (has_poll_ && --polls_to_skip_ < 0) ask();
  }
  /// What follows may take longer than what came before.
  void poll_soon() const { polls_to_skip_ = 0; }
  /// Both, by the thread that called, where it waits or plans.
  void check_caller() const {
    check();
    if (has_poll_) ask();
  }
  /// Before an iteration of any loop of the model, by the thread that runs it; throws like check_caller, or
  /// Error{resource_limit}.
  void count_iteration();
  [[noreturn]] void end() const;

 private:
  using Clock = std::chrono::steady_clock;

  bool is_late() const { return has_deadline_ && Clock::now() >= options_.deadline; }
  void ask() const;

  const RunOptions& options_;
  bool has_deadline_;
  bool has_poll_;
  std::int64_t iterations_ = 0;
  mutable int polls_to_skip_ = 1;  ///< a run of a single instruction never looks at the clock
  mutable Clock::time_point looked_{}, polled_{};
};

}  // namespace colonnade
