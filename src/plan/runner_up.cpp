// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "plan/lean.hpp"

namespace colonnade {
namespace {

constexpr double kNear = 1.05;     // times the predicted time
constexpr double kLeastUs = 1000;  // where runs are shorter, noise would decide
constexpr double kMostMemory = 1.5;
constexpr std::int64_t kLittleMemory = std::int64_t{64} << 20;  // bytes that need no comparison

/// Two plans may take turns while neither takes much more memory. Where caches do not hold the arena, memory was part
/// of the choice: no runner-up takes more.
bool are_alike(const Topology& topology, const Plan& plan, const Plan& other) {
  if (memory_level(topology, plan.arena_bytes / plan.threads) == MemoryLevel::dram)
    if (other.arena_bytes > plan.arena_bytes) return false;
  const auto [less, more] = std::minmax(plan.arena_bytes, other.arena_bytes);
  return more <= kLittleMemory || real(more) <= kMostMemory * real(less);
}

}  // namespace

std::optional<Plan> make_runner_up(const Graph& graph, const Topology& topology, const Plan& plan) {
  if (predicted_us(plan) < kLeastUs) return std::nullopt;
  const PlanContext context = make_context(graph, topology, plan.choices);
  const std::string text = to_text(plan, graph);
  std::optional<Plan> best;
  for (const Schedule schedule : {Schedule::columns, Schedule::layers}) {
    Plan candidate = plan_with(context, plan.threads, {schedule});
    const double most = best ? predicted_us(*best) : kNear * predicted_us(plan);
    if (predicted_us(candidate) > most || !are_alike(topology, plan, candidate)) continue;
    if (to_text(candidate, graph) == text) continue;
    candidate.options = plan.options;
    best = std::move(candidate);
  }
  return best;
}

}  // namespace colonnade
