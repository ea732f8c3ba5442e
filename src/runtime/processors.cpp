// SPDX-License-Identifier: Apache-2.0
#include "runtime/processors.hpp"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "topology/topology.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kBetweenLooksNs = 100'000'000;
/// taskset and control groups give a process its processors thread by thread.
constexpr std::int64_t kSettlingNs = 1'000'000'000;

constexpr std::size_t kLeastMaskBytes = 128, kMostMaskBytes = 8192;

/// Some milliseconds late, and a few nanoseconds to ask: each run does.
std::int64_t coarse_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

/// Makes the mask as large as the system's, once; empty where it cannot be read.
void Processors::read_first(Mask& mask) {
  for (std::size_t bytes = std::max(mask.size(), kLeastMaskBytes); bytes <= kMostMaskBytes; bytes *= 2) {
    mask.resize(bytes);
    std::fill(mask.begin(), mask.end(), std::byte{0});
    if (sched_getaffinity(getpid(), bytes, reinterpret_cast<cpu_set_t*>(mask.data())) == 0) return;
  }
  mask.clear();
}

Processors::Processors() : next_look_ns_(coarse_ns() + kBetweenLooksNs) {
  read_first(first_);
  found_ = first_;
  list_ = processors_of_process();
}

void Processors::accept_first() {
  const std::lock_guard lock(mutex_);
  read_first(first_);
}

bool Processors::have_changed() {
  const std::int64_t now = coarse_ns();
  if (now < next_look_ns_.load(std::memory_order_relaxed)) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || now < next_look_ns_.load(std::memory_order_relaxed)) return false;
  next_look_ns_.store(now + kBetweenLooksNs, std::memory_order_relaxed);
  read_first(found_);
  if (found_ != first_) {
    first_.swap(found_);
    settled_ns_ = now + kSettlingNs;
  }
  return now < settled_ns_ && processors_of_process() != list_;
}

}  // namespace colonnade
