// SPDX-License-Identifier: Apache-2.0
#include "plan/lean.hpp"

#include <algorithm>
#include <iterator>

namespace colonnade {
namespace {

/// A leaner plan is taken that needs at most this share of the memory for at most this share of the predicted time.
struct Bargain {
  double memory, time;
};
/// Predictions of long columns are rather high: see docs/decisions/017.
constexpr Bargain kBargains[] = {{0.3, 1.1}, {0.75, 1.05}, {1, 1.01}};

}  // namespace

void prefer_lean(const PlanContext& context, int threads, Plan& plan) {
  if (memory_level(context.topology, plan.arena_bytes / plan.threads) != MemoryLevel::dram) return;
  Plan columns = plan_with(context, threads, {Schedule::columns, true});
  const double memory = real(columns.arena_bytes) / real(plan.arena_bytes);
  const double time = predicted_us(columns) / predicted_us(plan);
  if (std::any_of(std::begin(kBargains), std::end(kBargains),
                  [&](const Bargain& bargain) { return memory <= bargain.memory && time <= bargain.time; }))
    plan = std::move(columns);
}

Plan plan_within(const PlanContext& context, int threads, std::int64_t limit_bytes, std::int64_t smallest) {
  constexpr Wish kWishes[] = {
      {Schedule::columns},          {Schedule::columns, true},    {Schedule::columns, true, 1, true},
      {Schedule::columns, true, 2}, {Schedule::columns, true, 4}, {Schedule::columns, true, 8}};
  for (; threads >= 1; threads /= 2)
    for (const Wish& wish : kWishes) {
      Plan candidate = plan_with(context, threads, wish);
      if (candidate.arena_bytes <= limit_bytes) return candidate;
      smallest = std::min(smallest, candidate.arena_bytes);
    }
  fail(ErrorCode::resource_limit, "memory limit of {} bytes is too small for '{}': at least {} bytes are needed",
       limit_bytes, context.graph.name, smallest);
}

}  // namespace colonnade
