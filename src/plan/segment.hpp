// SPDX-License-Identifier: Apache-2.0
// Cuts the graph into segments: dynamic programming over cut points of the node order.
#pragma once

#include "plan/cost.hpp"
#include "plan/hosts.hpp"
#include "plan/schedule.hpp"
#include "plan/strips.hpp"

namespace colonnade {

/// A node that reads another's output, by which input, and how much.
struct Reader {
  std::int32_t node = 0;
  std::int32_t input = 0;
  std::int64_t bytes = 0;
};

/// All the planner derives from the graph before it decides anything.
struct PlanContext {
  const Graph& graph;
  const Topology& topology;
  PlanOptions options{};
  int threads = 1;
  std::vector<Choice> choices{};
  std::vector<RowNode> rows{};
  std::vector<NodeWork> work{};
  std::vector<ColumnWindow> windows{};
  std::vector<ChunkRule> chunk_rules{};
  std::vector<Host> hosts{};                           ///< per value
  std::vector<std::int32_t> producer{};                ///< per value: node, or -1
  std::vector<std::vector<std::int32_t>> consumers{};  ///< per value: nodes
  std::vector<bool> is_output{};                       ///< per value: leaves the graph (itself or through a view)
  std::vector<std::int32_t> order{};                   ///< nodes, row-wise ones together as long as there are any
  std::vector<std::size_t> position{};                 ///< per node: where it is in the order
  std::vector<std::size_t> first_use{}, last_use{};  ///< per node: positions of its readers; past the end: none, output
  std::vector<std::vector<Reader>> readers{};        ///< per node
  std::vector<std::int64_t> read_bytes{};            ///< per node: of inputs that are not constant
  std::vector<std::int64_t> placed_bytes{};          ///< per node: of its output, which lie there already
  std::vector<ChunkGroup> chunk_groups{};            ///< with graph node indices
  std::vector<std::int32_t> chunk_group{};           ///< per node: group or -1
  CacheReach reach{};
  double cold_weights = 0;      ///< seconds a byte of weights when a run reads it first
  bool small_steps = false;     ///< memory before speed: one row a step
  std::int64_t min_strips = 1;  ///< cut segments in at least so many strips where that can be done

  double cold_seconds(std::size_t node) const { return cold_weights * static_cast<double>(work[node].weights_bytes); }
  /// Its output may lie in another's ring.
  bool hosted(std::size_t node) const {
    return hosts[static_cast<std::size_t>(graph.nodes[node].outputs[0])].value != kAbsent;
  }
  const RowMap& map(const Reader& reader) const {
    return rows[static_cast<std::size_t>(reader.node)].inputs[static_cast<std::size_t>(reader.input)];
  }
};

/// The context with everything that depends on how many threads there are.
PlanContext make_context(const Graph& graph, const Topology& topology, const PlanOptions& options);
void set_threads(PlanContext& context, int threads);

/// Nodes [begin, end) of the order, and how they run.
struct SegmentChoice {
  std::vector<std::int32_t> nodes;
  std::int64_t rows_per_step = 0;
  std::int64_t strips = 1;
  int threads = 1;        ///< that share it
  bool channels = false;  ///< by output channels, not by rows
  double predicted_us = 0;
  double arithmetic_us = 0;  ///< of it, were all operands in L2
  std::string ends_because;
};

std::vector<SegmentChoice> choose_segments(const PlanContext& context);

/// The segment's nodes with their inner edges and chunk groups; `chunks` false leaves nodes whole.
LocalSegment local_segment(const PlanContext& context, const std::vector<std::int32_t>& nodes, bool chunks);

/// One chunk of output channels a thread of a contraction; nothing where its channels cannot be divided so.
std::optional<ChunkGroup> channel_shares(const PlanContext& context, std::int32_t node, int threads);

}  // namespace colonnade
