// SPDX-License-Identifier: Apache-2.0
// Cuts the graph into segments: dynamic programming over cut points of the node order.
#pragma once

#include "plan/context.hpp"

namespace colonnade {

/// Nodes that are next to each other in the order, and how they run.
struct SegmentChoice {
  ByLocal<NodeIndex> nodes;
  std::int64_t rows_per_step = 0;
  std::int64_t strips = 1;
  int threads = 1;         ///< that share it
  bool channels = false;   ///< by output channels
  std::int64_t bands = 1;  ///< of rows, whose channels are divided
  bool rounds = false;     ///< by images, or by strips of them
  bool twice = false;      ///< bands compute rows twice rather than share them
  double predicted_us = 0;
  double arithmetic_us = 0;  ///< of it, were all operands in L2
  std::string ends_because;
};

std::vector<SegmentChoice> choose_segments(const PlanContext& context, const Team& team, const Wish& wish);

}  // namespace colonnade
