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
      : options_(options), has_deadline_(options.deadline != std::chrono::steady_clock::time_point::max()) {}

  /// That the run asks for; 0: the model's.
  int threads() const { return options_.threads; }
  /// The run is to end. Any thread; cheap, as it is asked before every step.
  bool is_over() const { return options_.stop.stop_requested() || is_late(); }
  /// Throws Error{cancelled} or Error{deadline} when the run is to end.
  void check() const {
    if (is_over()) end();
  }
  /// Before an iteration of any loop of the model, by the thread that runs it; throws like check, or
  /// Error{resource_limit}.
  void count_iteration();
  [[noreturn]] void end() const;

 private:
  bool is_late() const { return has_deadline_ && std::chrono::steady_clock::now() >= options_.deadline; }

  const RunOptions& options_;
  bool has_deadline_;
  std::int64_t iterations_ = 0;
};

}  // namespace colonnade
