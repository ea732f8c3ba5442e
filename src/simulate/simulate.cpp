// SPDX-License-Identifier: Apache-2.0
#include "simulate/simulate.hpp"

#include <algorithm>
#include <utility>

#include "base/meeting.hpp"

namespace colonnade::simulation {
namespace {

/// A machine whose threads do not slow each other down: who shares what is for the walk to say.
Topology without_totals(Topology topology) {
  topology.rates.l3_total_gbs = topology.rates.dram_total_gbs = 0;
  return topology;
}

/// The L3 cache of every thread, numbered from 0 in the order in which threads meet them.
std::vector<int> domains_of(const Topology& topology, int threads) {
  std::map<int, int> numbers;
  std::vector<int> domains;
  for (int thread = 0; thread < threads; ++thread) {
    const Core& core = topology.cores[static_cast<std::size_t>(thread) % topology.cores.size()];
    domains.push_back(numbers.emplace(core.l3_domain, static_cast<int>(numbers.size())).first->second);
  }
  return domains;
}

int lists_of(const Plan& plan, const SegmentPlan& segment) {
  return segment.sharing == Sharing::rounds ? plan.threads : static_cast<int>(segment.steps.size());
}

class Run {
 public:
  Run(const Graph& graph, const Topology& topology, const Plan& plan, bool keep_steps)
      : alone_(without_totals(topology)),
        context_(make_context(graph, alone_, plan.choices)),
        plan_(plan),
        speeds_(topology, plan.threads),
        domains_(domains_of(topology, plan.threads)),
        keep_steps_(keep_steps),
        clocks_(static_cast<std::size_t>(plan.threads)) {
    if (keep_steps_) result_.steps.resize(clocks_.size());
  }

  Simulated run() {
    std::vector<std::size_t> segments;
    for (std::size_t i = 0; i < plan_.segments.size(); ++i)
      if (plan_.segments[i].kind != SegmentPlan::Kind::view) segments.push_back(i);
    for (std::size_t k = 0; k < segments.size(); ++k) {
      const bool is_alone = k + 1 < segments.size() && lists_of(plan_, plan_.segments[segments[k]]) == 1 &&
                            lists_of(plan_, plan_.segments[segments[k + 1]]) == 1;
      run_segment(segments[k], is_alone);
    }
    result_.seconds = *std::max_element(clocks_.begin(), clocks_.end());
    for (const SimulatedSegment& segment : result_.segments) result_.times += segment.times;
    return std::move(result_);
  }

 private:
  void run_segment(std::size_t index, bool is_alone) {
    const SegmentPlan& segment = plan_.segments[index];
    const double begin = clocks_.front();
    SimulatedSegment simulated{index, lists_of(plan_, segment)};
    const auto number = static_cast<std::int32_t>(result_.segments.size());
    const SegmentDemands demands(context_, plan_, segment);
    StepTold told;
    if (keep_steps_)
      told = [this, number](int thread, const Step& step, double from, double to) {
        result_.steps[static_cast<std::size_t>(thread)].push_back({step.node, number, from, to});
      };
    Walk walk(demands, speeds_, domains_, std::move(told));
    const std::int64_t rounds = segment.images * std::max<std::int64_t>(1, std::ssize(segment.strips));
    if (segment.sharing == Sharing::rounds) {
      walk.walk(rounds_shared(segment, rounds), clocks_, simulated.times);
    } else {
      for (std::int64_t round = 0; round < rounds; ++round) {
        walk.walk(lists(segment), clocks_, simulated.times);
        if (simulated.lists > 1 && round + 1 < rounds) meet(simulated);
      }
      for (std::int64_t turn = 1; simulated.lists > 1 && turn < segment.turns; ++turn) meet(simulated);
    }
    if (!is_alone) meet(simulated);
    simulated.seconds = clocks_.front() - begin;
    if (is_alone) simulated.times.idle += simulated.seconds * real(std::ssize(clocks_) - 1);
    if (is_alone) std::fill(clocks_.begin(), clocks_.end(), clocks_.front());
    result_.segments.push_back(std::move(simulated));
  }

  static std::vector<Way> lists(const SegmentPlan& segment) {
    std::vector<Way> ways;
    for (const auto& list : segment.steps) ways.push_back({static_cast<int>(ways.size()), &list});
    return ways;
  }

  /// Thread i takes rounds i, i + threads, ...
  std::vector<Way> rounds_shared(const SegmentPlan& segment, std::int64_t rounds) const {
    std::vector<Way> ways;
    for (int thread = 0; thread < plan_.threads && thread < rounds; ++thread)
      ways.push_back({thread, &segment.steps.front(), (rounds - thread + plan_.threads - 1) / plan_.threads});
    return ways;
  }

  /// All go on once the last one has counted itself, and its group.
  void meet(SimulatedSegment& segment) {
    if (clocks_.size() == 1) return;
    const Meeting meeting(plan_.threads);
    std::vector<double> groups;
    for (int group = 0; group < meeting.groups(); ++group) {
      const int begin = group * meeting.group, last = begin + meeting.threads_of(group) - 1;
      const auto domain = [&](int thread) { return domains_[static_cast<std::size_t>(thread)]; };
      groups.push_back(counted({clocks_.begin() + begin, clocks_.begin() + last + 1},
                               domain(begin) == domain(last) ? speeds_.near_line : speeds_.line));
    }
    const double last = *std::max_element(clocks_.begin(), clocks_.end());
    const double together = groups.size() == 1 ? groups.front() : counted(std::move(groups), speeds_.line);
    for (std::size_t thread = 0; thread < clocks_.size(); ++thread) {
      const bool has_list = static_cast<int>(thread) < segment.lists;
      (has_list ? segment.times.imbalance : segment.times.idle) += last - clocks_[thread];
      segment.times.barriers += together - last;
      clocks_[thread] = together;
    }
  }

  /// When those that come to one line at these times have counted themselves, one after another.
  static double counted(std::vector<double> arrivals, double line) {
    std::sort(arrivals.begin(), arrivals.end());
    double counted = 0;
    for (const double arrival : arrivals) counted = std::max(counted, arrival) + line;
    return counted;
  }

  Topology alone_;
  PlanContext context_;
  const Plan& plan_;
  Speeds speeds_;
  std::vector<int> domains_;
  bool keep_steps_;
  std::vector<double> clocks_;
  Simulated result_;
};

}  // namespace

Simulated simulate(const Graph& graph, const Topology& topology, const Plan& plan, bool keep_steps) {
  return Run(graph, topology, plan, keep_steps).run();
}

}  // namespace colonnade::simulation
