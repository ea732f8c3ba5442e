// SPDX-License-Identifier: Apache-2.0
// What the planner knows before it decides anything: what the graph and its families say, what a team of threads
// shares, what a search is asked for.
#pragma once

#include "plan/cost.hpp"
#include "plan/hosts.hpp"
#include "plan/plan.hpp"
#include "plan/row_maps.hpp"
#include "plan/schedule.hpp"
#include "topology/shares.hpp"

namespace colonnade {

/// A node that reads another's output, by which input, and how much.
struct Reader {
  NodeIndex node{};
  std::size_t input = 0;
  std::int64_t bytes = 0;
};

/// Who makes and who reads what.
struct Edges {
  ByValue<NodeIndex> producer;                ///< kNoNode: none
  ByValue<std::vector<NodeIndex>> consumers;  ///< once a reading input
  ByValue<bool> is_output;                    ///< leaves the graph (itself or through a view)
  ByNode<std::vector<Reader>> readers;
};

/// The order in which nodes run: segments are parts of it.
struct Order {
  std::vector<NodeIndex> nodes;  ///< row-wise ones together as long as there are any
  ByNode<std::size_t> position;
  ByNode<std::size_t> first_use, last_use;  ///< positions of its readers; past the end: none, output
};

/// Chunk groups of the whole graph, as if it were one segment.
struct GraphChunks {
  Indexed<GroupIndex, ChunkGroup> groups;
  ByNode<GroupIndex> group_of;
};

/// What the graph says, and the families that run it. The same for every number of threads and every search.
struct PlanContext {
  const Graph& graph;
  const Topology& topology;
  ByNode<Choice> choices = {};
  ByNode<RowNode> rows = {};
  ByNode<NodeWork> work = {};
  ByNode<ColumnWindow> windows = {};
  ByNode<ChunkRule> chunk_rules = {};
  ByValue<Host> hosts = {};
  Edges edges = {};
  Order order = {};
  GraphChunks chunks = {};

  Shares shares = {};

  bool by_rows(NodeIndex node) const { return choices[node].by_rows(); }
  /// Its output may lie in another's ring.
  bool hosted(NodeIndex node) const { return hosts[output_of(graph, node)].value != kAbsent; }
  const RowMap& map(const Reader& reader) const { return rows[reader.node].inputs[reader.input]; }
};

PlanContext make_context(const Graph& graph, const Topology& topology, ByNode<Choice> choices);

/// What depends on how many threads there are.
struct Team {
  int threads = 1;
  CacheReach reach = {};
  double cold_weights = 0;  ///< seconds a byte of weights when a run reads it first
  double barrier_us = 0;

  Team(const PlanContext& context, int threads);
  double cold_seconds(const NodeWork& work) const { return cold_weights * real(work.weights_bytes); }
};

/// What a search is asked for.
struct Wish {
  Schedule schedule = Schedule::automatic;
  bool small_steps = false;     ///< memory before speed: one row a step
  std::int64_t min_strips = 1;  ///< cut segments in at least so many strips where that can be done
  bool twice = false;           ///< bands compute rows twice that would take much memory to share
};

}  // namespace colonnade
