// SPDX-License-Identifier: Apache-2.0
#include "runtime/control.hpp"

#include "base/error.hpp"

namespace colonnade {
namespace {

constexpr std::chrono::milliseconds kBetweenPolls{5};
/// Of instructions that take less, several pass for each look at the clock.
constexpr std::chrono::microseconds kWorthLooking{20};
constexpr int kSkippedLooks = 7;

}  // namespace

void RunControl::ask() const {
  const Clock::time_point now = Clock::now();
  polls_to_skip_ = now - looked_ < (1 + kSkippedLooks) * kWorthLooking ? kSkippedLooks : 0;
  looked_ = now;
  if (polled_ == Clock::time_point{}) polled_ = now;
  if (now - polled_ < kBetweenPolls) return;
  polled_ = now;
  options_.poll();
}

void RunControl::count_iteration() {
  check();
  poll();
  if (options_.loop_limit > 0 && ++iterations_ > options_.loop_limit)
    fail(ErrorCode::resource_limit, "the loops of the model want more than the {} iterations that loop_limit allows",
         options_.loop_limit);
}

void RunControl::end() const {
  if (options_.stop.stop_requested()) fail(ErrorCode::cancelled, "the run was cancelled");
  fail(ErrorCode::deadline, "the run did not end by its deadline");
}

}  // namespace colonnade
