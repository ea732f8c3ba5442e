// SPDX-License-Identifier: Apache-2.0
#include "plan/lean.hpp"

#include <algorithm>

namespace colonnade {

void prefer_lean(const PlanContext& context, int threads, Plan& plan) {
  constexpr double kMuchLess = 0.75, kLittleMore = 1.05, kHardlyMore = 1.01;
  if (memory_level(context.topology, plan.arena_bytes / plan.threads) != MemoryLevel::dram) return;
  Plan columns = plan_with(context, threads, {Schedule::columns, true});
  const double memory = real(columns.arena_bytes) / real(plan.arena_bytes);
  const double time = predicted_us(columns) / predicted_us(plan);
  if ((memory > kMuchLess || time > kLittleMore) && (memory > 1 || time > kHardlyMore)) return;
  plan = std::move(columns);
}

Plan plan_within(const PlanContext& context, int threads, std::int64_t limit_bytes, std::int64_t smallest) {
  for (; threads >= 1; threads /= 2)
    for (const std::int64_t strips : {0, 1, 2, 4, 8}) {  // 0: full width, steps as fast as they can be
      Plan candidate = plan_with(context, threads, {Schedule::columns, strips > 0, std::max<std::int64_t>(1, strips)});
      if (candidate.arena_bytes <= limit_bytes) return candidate;
      smallest = std::min(smallest, candidate.arena_bytes);
    }
  fail(ErrorCode::resource_limit, "memory limit of {} bytes is too small for '{}': at least {} bytes are needed",
       limit_bytes, context.graph.name, smallest);
}

}  // namespace colonnade
