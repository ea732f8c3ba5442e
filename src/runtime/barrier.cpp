// SPDX-License-Identifier: Apache-2.0
#include "runtime/barrier.hpp"

#include "runtime/wait.hpp"

namespace colonnade {
namespace {

/// The others are on their way: longer than waking up takes, shorter than the time slice of whoever keeps them.
constexpr std::chrono::microseconds kSpin{200};

}  // namespace

/// Ready for the next meeting once it answers true: those who come again do so after the generation has changed.
bool Barrier::Count::is_last(int of) {
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < of) return false;
  arrived.store(0, std::memory_order_relaxed);
  return true;
}

bool Barrier::is_last(int thread, int threads) {
  const Meeting meeting(threads);
  if (meeting.groups() == 1) return all_.is_last(threads);
  const int group = thread / meeting.group;
  return groups_[static_cast<std::size_t>(group)].is_last(meeting.threads_of(group)) && all_.is_last(meeting.groups());
}

bool Barrier::wait(int thread, int threads, bool stop) {
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed);
  if (stop) stop_.store(true, std::memory_order_relaxed);
  if (is_last(thread, threads)) {
    const bool stopped = stop_.exchange(false, std::memory_order_relaxed);
    // Ordered before the look at the sleepers, as these count themselves before the system compares the generation.
    generation_.store((generation & ~kStopped) + kGeneration + (stopped ? kStopped : 0), std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) wake_all(generation_);
    return !stopped;
  }
  const auto next = [&] { return generation_.load(std::memory_order_acquire); };
  if (!spin_until(kSpin, [&] { return next() != generation; })) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (next() == generation) sleep_while(generation_, generation);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
  return (next() & kStopped) == 0;
}

}  // namespace colonnade
