// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/aligned_buffer.hpp"
#include "base/checked.hpp"
#include "base/error.hpp"
#include "kernels/peak/peak.hpp"
#include "runtime/barrier.hpp"
#include "runtime/workers.hpp"

namespace colonnade {
namespace {

constexpr int kRuns = 5;
constexpr int kMostThreads = 1024;
constexpr double kRunSeconds = 0.01;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds that `threads` threads need for `work(thread)`, from a common start to the last one's end.
template <class Work>
double team_seconds(int threads, const Work& work) {
  double begin = 0;
  Barrier barrier;
  Workers::process().run(threads, [&](int mine, int team) {
    barrier.wait(mine, team);
    if (mine == 0) begin = seconds_now();
    for (int thread = mine; thread < threads; thread += team) work(thread);
  });
  return seconds_now() - begin;
}

/// Repetitions that keep one thread busy long enough for the clock. Found without a team, whose barriers wait for
/// whatever else the machine does.
template <class Work>
std::int64_t repetitions_for_clock(const Work& work) {
  for (std::int64_t repetitions = 1;; repetitions *= 2) {
    const double begin = seconds_now();
    work(0, repetitions);
    if (seconds_now() - begin >= kRunSeconds) return repetitions;
  }
}

/// Fewest seconds a repetition of `work(thread, repetitions)`, over several runs.
template <class Work>
double seconds_per_repetition(int threads, const Work& work) {
  const std::int64_t repetitions = repetitions_for_clock(work);
  double fewest = std::numeric_limits<double>::max();
  for (int i = 0; i < kRuns; ++i) {
    fewest = std::min(fewest, team_seconds(threads, [&](int thread) { work(thread, repetitions); }));
  }
  return fewest / static_cast<double>(repetitions);
}

void check_threads(int threads) {
  if (threads < 1 || threads > kMostThreads) {
    fail(ErrorCode::invalid_argument, "threads: expected 1 to {}, found {}", kMostThreads, threads);
  }
}

}  // namespace

double measure_fma_gflops(kernels::Features features, int threads) {
  check_threads(threads);
  if (!kernels::host_features().contains(features)) {
    fail(ErrorCode::invalid_argument, "this host has no tier '{}', its best is '{}'", kernels::name_of(features),
         kernels::name_of(kernels::usable_features()));
  }
  constexpr std::size_t kRounds = 1000;
  const kernels::peak::Kernel& kernel = kernels::peak::select(features);
  std::vector<float> results(static_cast<std::size_t>(threads));
  const double seconds = seconds_per_repetition(threads, [&](int thread, std::int64_t repetitions) {
    results[static_cast<std::size_t>(thread)] =
        kernel.multiply_add(kRounds * static_cast<std::size_t>(repetitions), static_cast<float>(thread));
  });
  return kernel.flop_per_round * static_cast<double>(kRounds) * threads / seconds * 1e-9;
}

double measure_read_gbs(std::int64_t working_set_bytes, int threads) {
  check_threads(threads);
  if (working_set_bytes < 64) {
    fail(ErrorCode::invalid_argument, "working set: expected at least 64 bytes, found {}", working_set_bytes);
  }
  const std::size_t count = static_cast<std::size_t>(working_set_bytes) / sizeof(float);
  std::vector<AlignedBuffer> buffers(static_cast<std::size_t>(threads));
  const kernels::peak::Kernel& kernel = kernels::peak::select(kernels::usable_features());
  for (AlignedBuffer& buffer : buffers) {
    buffer = AlignedBuffer(count * sizeof(float));
    std::fill_n(buffer.floats(), count, 1.0f);
  }
  std::vector<float> results(static_cast<std::size_t>(threads));
  const double seconds = seconds_per_repetition(threads, [&](int thread, std::int64_t repetitions) {
    const auto mine = static_cast<std::size_t>(thread);
    float total = 0;
    for (std::int64_t i = 0; i < repetitions; ++i) total += kernel.sum(buffers[mine].floats(), count);
    results[mine] = total;
  });
  return static_cast<double>(count * sizeof(float)) * threads / seconds * 1e-9;
}

}  // namespace colonnade
