// SPDX-License-Identifier: Apache-2.0
// Threads walk down the lists of one segment in virtual time: steps, waits for rows, and memory that they share.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "simulate/demand.hpp"

namespace colonnade::simulation {

/// Where the time of threads goes, in seconds of all of them.
struct Times {
  double arithmetic = 0;
  double memory = 0;     ///< more than from L2
  double calls = 0;      ///< what steps take to start
  double rows = 0;       ///< waiting for rows of the next band
  double imbalance = 0;  ///< waiting for the last thread of a segment
  double idle = 0;       ///< likewise, where a segment has fewer lists than there are threads
  double barriers = 0;   ///< meeting, once all have come
  Times& operator+=(const Times& more);
  double sum() const { return arithmetic + memory + calls + rows + imbalance + idle + barriers; }
};

/// Told of a step when it is over.
using StepTold = std::function<void(int thread, const Step& step, double begin, double end)>;

/// What a thread does in a segment: its list, from beginning to end so many times.
struct Way {
  int thread = 0;
  const std::vector<Step>* list = nullptr;
  std::int64_t times = 1;
};

/// One segment's threads. What was read before is not read first again in later walks.
class Walk {
 public:
  /// `domains`: of each thread, which L3 cache it is below, from 0. All must outlive the walk.
  Walk(const SegmentDemands& demands, const Speeds& speeds, const std::vector<int>& domains, StepTold told);
  /// Each way's thread starts at its clock, which then says when it came to the end. Thread i runs the list above that
  /// of thread i + 1.
  void walk(const std::vector<Way>& ways, std::vector<double>& clocks, Times& times);

 private:
  struct Lane {
    enum class State : std::uint8_t { coming, running, waiting, gone };
    Way way = {};
    State state = State::coming;
    std::size_t at = 0;
    double since = 0;  ///< coming: it goes on then; running, waiting: it began then
    double left = 1;   ///< running: share of the step
    double seconds = 0, end = 0;
    Demand demand = {};
    Bytes shared = {};
    const Step& step() const { return (*way.list)[at]; }
  };
  double next_event() const;
  void settle(double to);
  void go_on(Lane& lane, double now, double& clock);
  void finish(Lane& lane, double now, Times& times);
  void announce(const Lane& lane, double now, Times& times);
  bool is_first(const Lane& lane);
  void share_memory(double now);
  Stretch& stretch_of(const Lane& lane) { return stretches_[static_cast<std::size_t>(domain_of(lane))]; }
  int domain_of(const Lane& lane) const { return domains_[static_cast<std::size_t>(lane.way.thread)]; }
  std::int32_t& progress(int list, NodeIndex node) { return progress_[{list, node}]; }

  const SegmentDemands& demands_;
  const Speeds& speeds_;
  const std::vector<int>& domains_;
  StepTold told_;
  std::vector<Lane> lanes_;
  std::vector<Stretch> stretches_;                              ///< by L3 cache
  std::map<std::pair<int, NodeIndex>, std::int32_t> progress_;  ///< rows that a list has announced
  std::map<int, std::vector<bool>> met_;  ///< by thread: nodes and chunks whose weights it has read
  double now_ = 0;
};

}  // namespace colonnade::simulation
