// SPDX-License-Identifier: Apache-2.0
// Memory before speed: plans that take less of it, for their own sake or because a limit asks for them.
#pragma once

#include "plan/context.hpp"

namespace colonnade {

/// The plan that a wish of so many threads gets.
Plan plan_with(const PlanContext& context, int threads, const Wish& wish);
double predicted_us(const Plan& plan);

/// Segments are chosen one by one, but what their whole tensors take together shows only in the arena: where that is
/// more than caches hold, a plan of few long columns that takes much less of it and little more time is the better one,
/// and so is one that takes no more of it and hardly more time: it reads whole tensors less often.
void prefer_lean(const PlanContext& context, int threads, Plan& plan);

/// A plan whose arena keeps to the limit: fewer rows a step, then bands that compute rows twice, then strips, then
/// fewer threads. Throws
/// Error{resource_limit} naming the smallest limit that would do.
Plan plan_within(const PlanContext& context, int threads, std::int64_t limit_bytes, std::int64_t smallest);

}  // namespace colonnade
