// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/search.hpp"

namespace colonnade {

/// The chosen segment in full: lists of steps, rings, what it moves. Offsets are not set yet.
SegmentPlan plan_segment(const PlanContext& context, const Team& team, const SegmentChoice& choice);

}  // namespace colonnade
