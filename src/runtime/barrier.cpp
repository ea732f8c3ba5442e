// SPDX-License-Identifier: Apache-2.0
#include "runtime/barrier.hpp"

#include "runtime/wait.hpp"

namespace colonnade {
namespace {

/// The others are on their way: longer than waking up takes, shorter than the time slice of whoever keeps them.
constexpr std::chrono::microseconds kSpin{200};

}  // namespace

bool Barrier::wait(int threads, bool stop) {
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed);
  if (stop) stop_.store(true, std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
    arrived_.store(0, std::memory_order_relaxed);
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
