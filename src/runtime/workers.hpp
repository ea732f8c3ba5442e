// SPDX-License-Identifier: Apache-2.0
// The worker threads of a process, shared by all its sessions.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/processors.hpp"
#include "topology/topology.hpp"

namespace colonnade {

/// Threads that help callers with their runs: one a physical core, started when first needed, those of an L3 domain
/// together, those of fast cores first where not all are the same. A run gets as many as are idle, within its share of
/// the machine, while callers in runs and busy workers together stay within the machine's threads. Without work they
/// spin for some microseconds, then sleep. Safe to use from any thread.
class Workers {
 public:
  explicit Workers(const Topology& topology);
  /// Nobody may be within run().
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// The process's. A forked child has its own: threads do not survive a fork. Where the process may use other
  /// processors than before, others take their place; those still stand for who has them, but help nobody any more.
  static Workers& process();

  /// What becomes of idle workers that sleep. Waking one takes some 50 us, more than a brief run: it leaves them where
  /// no other brief run has just ended, else those that follow find them awake.
  enum class Sleepers : std::uint8_t { wake, leave };

  static constexpr int kAnyNode = -1;

  /// Calls work(thread, threads) at the same time for each thread from 0, the caller, to threads - 1. There are at most
  /// `most` of them, fewer when workers are busy or cannot be had. Work must not throw. Allocates nothing once the
  /// workers have started. They come from one NUMA node where it is named, else the caller's neighbours come first.
  template <class Work>
  void run(int most, const Work& work, Sleepers sleepers = Sleepers::wake, int node = kAnyNode) {
    run(most,
        Task{
            [](const void* context, int thread, int threads) { (*static_cast<const Work*>(context))(thread, threads); },
            &work},
        sleepers, node);
  }

  /// Callers in runs and busy workers that there are at most.
  int limit() const { return limit_; }
  /// The NUMA node that the calling thread runs on; the first when that is not known.
  int node_of_caller() const;
  /// Those that the process has cores of, by rising number.
  const std::vector<NumaNode>& nodes() const { return nodes_; }
  int cores_of(int node) const;
  /// Keeps the calling thread to a node's processors, as far as the system allows it.
  void keep_caller_on(int node) const;

 private:
  struct Task {
    void (*function)(const void* context, int thread, int threads);
    const void* context;
  };
  struct Job;
  struct Worker;
  struct Group;

  struct Wish;
  struct Taken;

  void run(int most, const Task& task, Sleepers sleepers, int node);
  int reserve(int most);
  static bool take_from(Group& group, std::size_t most, const Wish& wish, Taken& taken);
  Taken take(const Wish& wish);
  void retire();
  Group& group_of_caller() const;

  static constexpr std::uint64_t kCaller = std::uint64_t{1} << 32;

  int limit_;
  std::vector<NumaNode> nodes_;
  std::unique_ptr<Processors> processors_;            ///< of the process's workers
  Workers* before_ = nullptr;                         ///< that these took the place of: known, so that it is no leak
  alignas(64) std::atomic<std::uint64_t> active_{0};  ///< busy workers, and kCaller times the callers in runs
  std::atomic<std::int64_t> brief_end_ns_{0};         ///< of the last run that would have left sleepers
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<Group*> group_of_;  ///< by processor; null for those that are none of ours
};

}  // namespace colonnade
