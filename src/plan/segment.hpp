// SPDX-License-Identifier: Apache-2.0
// Cuts the graph into segments: dynamic programming over cut points of the node order.
#pragma once

#include "plan/cost.hpp"
#include "plan/hosts.hpp"
#include "plan/schedule.hpp"

namespace colonnade {

/// All the planner derives from the graph before it decides anything.
struct PlanContext {
  const Graph& graph;
  const Topology& topology;
  PlanOptions options;
  int threads = 1;
  std::vector<KernelChoice> choices;
  std::vector<RowNode> rows;
  std::vector<NodeWork> work;
  std::vector<std::int32_t> producer;                ///< per value: node, or -1
  std::vector<std::vector<std::int32_t>> consumers;  ///< per value: nodes
  std::vector<Host> hosts;                           ///< per value
  std::vector<bool> is_output;                       ///< per value: leaves the graph (itself or through a view)
  bool small_steps = false;                          ///< memory before speed: one row a step
  std::int64_t min_strips = 1;                       ///< cut segments in at least so many strips where that can be done
};

PlanContext make_context(const Graph& graph, const Topology& topology, const PlanOptions& options);

/// Nodes [begin, end) of an order that puts row-wise nodes together as long as there are any.
struct SegmentChoice {
  std::vector<std::int32_t> nodes;
  std::int64_t rows_per_step = 0;
  double predicted_us = 0;
  std::string ends_because;
};

std::vector<SegmentChoice> choose_segments(const PlanContext& context);

/// The segment's nodes with their inner edges and chunk groups; `chunks` false leaves nodes whole.
LocalSegment local_segment(const PlanContext& context, const std::vector<std::int32_t>& nodes, bool chunks);

/// Cost of running `nodes` as one segment with the given step, one candidate of the planner.
double segment_cost(const PlanContext& context, const LocalSegment& segment, std::int64_t rows_per_step,
                    std::int64_t strips = 1, double recomputed = 1);

/// Rows per step worth trying for a segment that ends in `rows` rows.
std::vector<std::int64_t> step_candidates(const PlanContext& context, std::int64_t rows);

}  // namespace colonnade
