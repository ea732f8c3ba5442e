// SPDX-License-Identifier: Apache-2.0
#include "simulate/demand.hpp"

#include <algorithm>

#include "base/numbers.hpp"
#include "plan/estimate.hpp"

namespace colonnade::simulation {
namespace {

constexpr double kGiga = 1e9;
constexpr MemoryLevel kLevels[] = {MemoryLevel::l3, MemoryLevel::dram};

double& at(Bytes& bytes, MemoryLevel level) { return level == MemoryLevel::l3 ? bytes.l3 : bytes.dram; }

/// As the planner's, but where it adds up seconds beyond L2, it adds up the bytes of a level.
Team counting(const PlanContext& context, const Team& team, MemoryLevel level) {
  Team counts = team;
  counts.reach = team.reach.counting(level);
  std::int64_t weights = 0;
  for (const NodeWork& work : context.work) weights += work.weights_bytes;
  counts.cold_weights = counts.reach.seconds_beyond_l2(weights);
  return counts;
}

Bytes weights_of(const PlanContext& context, const Team& team, NodeIndex node) {
  Bytes bytes;
  for (const MemoryLevel level : kLevels)
    at(bytes, level) = counting(context, team, level).cold_seconds(context.work[node]);
  return bytes;
}

/// Cores below one L3 cache, of the first core's.
double cores_of_l3(const Topology& topology) {
  return real(std::count_if(topology.cores.begin(), topology.cores.end(),
                            [&](const Core& core) { return core.l3_domain == topology.cores.front().l3_domain; }));
}

}  // namespace

Demand Demand::operator*(double share) const {
  return {call * share, arithmetic * share, streamed * share, met * share, weights * share, readers, others * share};
}

Speeds::Speeds(const Topology& topology, int threads) {
  const Rates& rates = topology.rates;
  const double cores = real(std::ssize(topology.cores)), below = cores_of_l3(topology);
  const bool is_wide = threads > topology.cores_of_node();
  l2 = 1 / (kGiga * rates.l2_gbs);
  l3 = std::max(l2, 1 / (kGiga * rates.l3_gbs));
  dram = std::max(l2, (is_wide ? topology.far_factor() : 1) / (kGiga * rates.dram_gbs));
  const auto capacity = [&](double total, double one, double share) {
    return kGiga * std::max(one, total > 0 ? total * share : one * cores);
  };
  l3_capacity = capacity(rates.l3_total_gbs, rates.l3_gbs, below / cores);
  dram_capacity = capacity(rates.dram_total_gbs, rates.dram_gbs, is_wide ? 1 : 1 / real(std::ssize(topology.nodes)));
  line = rates.hop_us() / kMicro;
  near_line = rates.near_hop_us > 0 ? rates.near_hop_us / kMicro : line;
  for (int thread = 0; thread < threads; ++thread)
    core_speeds.push_back(topology.cores[static_cast<std::size_t>(thread) % topology.cores.size()].speed);
  mates = std::min<double>(threads, below);
  far_others = threads > 1 ? (threads - mates) / (threads - 1) : 0;
}

double seconds_of(const Bytes& bytes, const Speeds& speeds, const Stretch& stretch) {
  return bytes.l3 * (stretch.l3 * speeds.l3 - speeds.l2) + bytes.dram * (stretch.dram * speeds.dram - speeds.l2);
}

double seconds_of(const Demand& demand, const Speeds& speeds, const Stretch& stretch) {
  const Bytes others{demand.others * (1 - speeds.far_others), demand.others * speeds.far_others};
  return demand.call + demand.arithmetic + exposed(seconds_of(demand.streamed, speeds, stretch), demand.arithmetic) +
         seconds_of(demand.met, speeds, stretch) + seconds_of(demand.weights, speeds, stretch) +
         seconds_of(others, speeds, {stretch.l3, 1});
}

Bytes shared_bytes(const Demand& demand, const Speeds& speeds) {
  return {demand.streamed.l3 + demand.met.l3 + demand.weights.l3 + demand.others * (1 - speeds.far_others),
          demand.streamed.dram + demand.met.dram + demand.weights.dram / std::min(speeds.mates, demand.readers)};
}

SegmentDemands::SegmentDemands(const PlanContext& context, const Plan& plan, const SegmentPlan& segment)
    : local_(ByNode<LocalIndex>::of(context.graph.nodes.size(), kNotLocal)),
      by_node_(ByLocal<OfNode>::of(segment.nodes.size())) {
  for (const LocalIndex i : segment.nodes.indices()) local_[segment.nodes[i]] = i;
  const Team team(context, plan.threads);
  readers_ = segment.sharing == Sharing::rounds ? plan.threads : real(std::ssize(segment.steps));
  if (!context.by_rows(segment.nodes.front()))
    price_whole(context, segment);
  else if (segment.sharing == Sharing::channels)
    price_channels(context, team, segment);
  else
    price_columns(context, team, segment);
}

void SegmentDemands::price_columns(const PlanContext& context, const Team& team, const SegmentPlan& segment) {
  const std::int64_t strips = std::max<std::int64_t>(1, std::ssize(segment.strips));
  for (const MemoryLevel level : kLevels) {
    const Team counts = counting(context, team, level);
    SegmentEstimate estimate(context, counts, strips);
    const std::size_t begin = context.order.position[segment.nodes.front()];
    estimate.start(begin + segment.nodes.size(), segment.rows_per_step);
    while (estimate.begin() > begin)
      if (!estimate.add()) fail(ErrorCode::internal, "a segment that was planned in {} strips has no price", strips);
    for (const LocalIndex i : segment.nodes.indices()) {
      const NodeIndex node = segment.nodes[i];
      const NodePrice price = estimate.price(context.order.position[node]);
      const NodeWork& work = context.work[node];
      const double rows = real(context.rows[node].rows * context.rows[node].images * strips);
      OfNode& mine = by_node_[i];
      mine.call = context.topology.rates.step_us / kMicro + work.visit_seconds;
      mine.row.arithmetic = (price.seconds - price.visits * work.visit_seconds) / rows;
      at(mine.row.streamed, level) = price.streamed / rows;
      at(mine.row.met, level) = price.met / rows;
      at(mine.weights, level) = counts.cold_seconds(work);
    }
  }
  for (const ChunkGroup& group : segment.chunk_groups)
    for (const NodeIndex node : group.nodes) by_node_[local_[node]].chunk_share = 1 / real(group.count());
}

void SegmentDemands::price_channels(const PlanContext& context, const Team& team, const SegmentPlan& segment) {
  const NodeIndex node = segment.nodes.front();
  const NodeWork& work = context.work[node];
  const ChunkGroup& shares = segment.chunk_groups.front();
  const double share = real(shares.chunk_channels) / real(shares.channels);
  readers_ = std::max(1.0, readers_ / real(shares.count()));
  const RowNode& rows = context.rows[node];
  const std::int64_t written = rows.row_bytes * rows.rows;
  const double read = context.chunk_rules[node].carries ? share : 1;  // of all channels
  const double bytes = read * real(work.read_bytes) + share * 2 * real(written);
  Demand all;
  all.arithmetic = work.seconds * share * context.chunk_rules[node].apart;
  all.others = (1 - share) * (read * real(work.read_bytes) + share * real(written));
  for (const MemoryLevel level : kLevels)
    at(all.met, level) = bytes * team.reach.counting(level).seconds_beyond_l2(work.read_bytes + written);
  OfNode& mine = by_node_.items.front();
  mine.call = context.topology.rates.step_us / kMicro + work.visit_seconds;
  mine.row = all * (1 / real(rows.rows));
  mine.weights = weights_of(context, team, node) * share;
}

void SegmentDemands::price_whole(const PlanContext& context, const SegmentPlan& segment) {
  const NodeIndex node = segment.nodes.front();
  const std::int64_t units = segment.kind == SegmentPlan::Kind::island ? 1 : context.rows[node].rows;
  OfNode& mine = by_node_.items.front();
  mine.call = context.topology.rates.step_us / kMicro;
  mine.row.arithmetic = context.work[node].seconds / real(std::max<std::int64_t>(1, units));
}

Demand SegmentDemands::of(const Step& step, bool first) const {
  const OfNode& mine = by_node_[local_[step.node]];
  const double share = step.chunk >= 0 ? mine.chunk_share : 1;
  Demand demand = mine.row * (real(step.row_end - step.row_begin) * share);
  demand.call = mine.call;
  demand.readers = readers_;
  if (first) demand.weights = mine.weights * share;
  return demand;
}

}  // namespace colonnade::simulation
