// SPDX-License-Identifier: Apache-2.0
// A plan's run on a machine on paper, as the executor would run it: a discrete-event simulation.
#pragma once

#include <vector>

#include "plan/plan.hpp"
#include "simulate/walk.hpp"

namespace colonnade::simulation {

struct SimulatedStep {
  NodeIndex node{};
  std::int32_t segment = 0;
  double begin = 0, end = 0;  ///< seconds of the run
};

struct SimulatedSegment {
  std::size_t index = 0;  ///< in Plan::segments
  int lists = 1;          ///< that run at once
  double seconds = 0;     ///< from barrier to barrier
  Times times = {};
};

struct Simulated {
  double seconds = 0;
  Times times = {};  ///< of all threads; their sum is the threads' times `seconds`
  std::vector<SimulatedSegment> segments;
  std::vector<std::vector<SimulatedStep>> steps;  ///< by thread, when asked for
};

/// A run of `plan`, made for `graph` and `topology`, by as many threads as it has lists, awake and each on the core of
/// its number.
Simulated simulate(const Graph& graph, const Topology& topology, const Plan& plan, bool keep_steps = false);

}  // namespace colonnade::simulation
