// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <algorithm>

#include "plan/lean.hpp"
#include "plan/place.hpp"
#include "plan/segment.hpp"

namespace colonnade {
namespace {

constexpr double kMostWorthOneThreadUs = 1000;  // more is worth a team without asking
constexpr double kBriefUs = 60;                 // of a team's run: about what it takes to wake one

/// Of all segments, chosen or planned.
template <typename Segment>
double microseconds(const std::vector<Segment>& segments) {
  double sum = 0;
  for (const Segment& segment : segments) sum += segment.predicted_us;
  return sum;
}

void check_shapes(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id == kAbsent || graph.value(id).type.is_static()) continue;
      fail(ErrorCode::unsupported, "node '{}' ({}): output '{}' is {}, its shape is known only when it runs", node.name,
           name_of(node.op), graph.value(id).name, to_text(graph.value(id).type));
    }
  }
}

/// What a team must save at least, of a run that takes it so long.
double least_saved_us(double together, double team_us, double barrier_us) {
  constexpr double kAsleep = 0.5;      // share of runs whose threads sleep: soon after another run they are awake
  constexpr double kLeastTeamUs = 30;  // what less saves is left to one thread
  constexpr double kLeastBriefUs = 3, kShareOfBrief = 0.25;
  constexpr double kBarriers = 4;  // large teams meet where segments of one thread begin and end too
  if (together < kBriefUs) return std::max({kLeastBriefUs, kShareOfBrief * together, kBarriers * barrier_us});
  return std::max(kLeastTeamUs, kAsleep * team_us);
}

}  // namespace

bool is_brief(const Plan& plan) { return predicted_us(plan) < kBriefUs; }

Plan plan_with(const PlanContext& context, int threads, const Wish& wish) {
  Team team(context, threads);
  std::vector<SegmentChoice> choices = choose_segments(context, team, wish);
  const auto prefer = [&](const Team& other, double most_us) {
    std::vector<SegmentChoice> found = choose_segments(context, other, wish);
    if (microseconds(found) > most_us) return;
    team = other;
    choices = std::move(found);
  };
  if (const int fast = context.shares.fast(threads); fast < threads) prefer(Team(context, fast), microseconds(choices));
  const double together =
      microseconds(choices) + least_saved_us(microseconds(choices), context.topology.rates.team_us, team.barrier_us);
  if (team.threads > 1 && together < kMostWorthOneThreadUs) prefer(Team(context, 1), together);
  Plan plan;
  plan.threads = team.threads;
  plan.choices = context.choices;
  for (const SegmentChoice& choice : choices) {
    plan.segments.push_back(plan_segment(context, team, choice));
    plan.flop += plan.segments.back().flop;
  }
  place_values(context, plan);
  return plan;
}

double predicted_us(const Plan& plan) { return microseconds(plan.segments); }

Plan make_plan(const Graph& graph, const Topology& topology, const PlanOptions& options) {
  check_shapes(graph);
  return make_plan(graph, topology, options,
                   {choose_families(graph, options.math, topology.features, blocking_of(topology))});
}

Plan make_plan(const Graph& graph, const Topology& topology, const PlanOptions& options, ByNode<Choice> choices) {
  const PlanContext context = make_context(graph, topology, std::move(choices));
  Plan plan = plan_with(context, std::max(1, options.threads), {options.schedule});
  const int threads = plan.threads;
  if (options.schedule == Schedule::automatic) prefer_lean(context, threads, plan);
  if (options.memory_limit_bytes > 0 && plan.arena_bytes > options.memory_limit_bytes)
    plan = plan_within(context, threads, options.memory_limit_bytes, plan.arena_bytes);
  plan.options = options;
  return plan;
}

}  // namespace colonnade
