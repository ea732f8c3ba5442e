// SPDX-License-Identifier: Apache-2.0
// What the steps of a segment ask of a core and of memory, by the planner's prices.
#pragma once

#include "plan/context.hpp"

namespace colonnade::simulation {

/// Bytes that come from beyond L2.
struct Bytes {
  double l3 = 0, dram = 0;
  Bytes operator*(double share) const { return {l3 * share, dram * share}; }
};

/// Of a step.
struct Demand {
  double call = 0;        ///< seconds that it takes to start
  double arithmetic = 0;  ///< seconds, operands in L2
  Bytes streamed = {};    ///< arithmetic hides some of their time
  Bytes met = {};         ///< nothing hides their time
  Bytes weights = {};     ///< likewise; those of its readers that are below one L3 cache get them together
  double readers = 1;     ///< lists that read these weights
  double others = 0;      ///< likewise: bytes that all other threads have just written

  Demand operator*(double share) const;
};

/// How fast cores and memory are for a team of some threads, each on a core of its own.
struct Speeds {
  double l2 = 0, l3 = 0, dram = 0;  ///< seconds a byte takes one thread alone
  double l3_capacity = 0;           ///< bytes a second that an L3 cache gives all its threads
  double dram_capacity = 0;         ///< bytes a second that memory gives: a node's, or all nodes' to a team on several
  double line = 0;                  ///< seconds until another thread sees what one wrote
  double near_line = 0;             ///< likewise, of threads below one L3 cache
  double far_others = 0;            ///< share of the other threads that are not below the same L3 cache
  double mates = 1;                 ///< threads below one L3 cache
  std::vector<double> core_speeds;  ///< by thread: how fast its core is, over the fastest

  Speeds(const Topology& topology, int threads);
};

/// How much longer a byte takes because others want some too.
struct Stretch {
  double l3 = 1, dram = 1;
};

double seconds_of(const Bytes& bytes, const Speeds& speeds, const Stretch& stretch);
/// Of a step that begins and ends under this stretch.
double seconds_of(const Demand& demand, const Speeds& speeds, const Stretch& stretch);
/// What a step takes of shared L3 caches and memory.
Bytes shared_bytes(const Demand& demand, const Speeds& speeds);

/// Of the steps of one segment.
class SegmentDemands {
 public:
  /// `context`: of the plan's graph and choices. Threads do not slow each other down in what is asked for.
  SegmentDemands(const PlanContext& context, const Plan& plan, const SegmentPlan& segment);

  std::size_t nodes() const { return by_node_.size(); }
  LocalIndex local(NodeIndex node) const { return local_[node]; }
  /// `first`: the list has not run this node, or this chunk of it, before.
  Demand of(const Step& step, bool first) const;

 private:
  struct OfNode {
    double call = 0;
    Demand row = {};         ///< all channels
    double chunk_share = 1;  ///< of its channels
    Bytes weights = {};
  };
  void price_columns(const PlanContext& context, const Team& team, const SegmentPlan& segment);
  void price_channels(const PlanContext& context, const Team& team, const SegmentPlan& segment);
  void price_whole(const PlanContext& context, const SegmentPlan& segment);

  ByNode<LocalIndex> local_;
  ByLocal<OfNode> by_node_;
  double readers_ = 1;
};

}  // namespace colonnade::simulation
