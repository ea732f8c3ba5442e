// SPDX-License-Identifier: Apache-2.0
// A session works on one call at a time.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.hpp"

namespace colonnade {

/// How often this process was forked off another. Any thread.
std::uint32_t fork_generation();

/// Whether a call works with something: 0 when none does. What a parent process left in it when it forked means nothing
/// to the child.
using TurnState = std::atomic<std::uint32_t>;

/// The one call. Throws Error{invalid_argument} when there is another one.
class Turn {
 public:
  explicit Turn(TurnState& state) : state_(state) {
    const std::uint32_t taken = 1 + fork_generation();
    if (state_.exchange(taken, std::memory_order_acquire) == taken)
      fail(ErrorCode::invalid_argument, "the session is in use by another call: make a session for each thread");
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { state_.store(0, std::memory_order_release); }

 private:
  TurnState& state_;
};

}  // namespace colonnade
