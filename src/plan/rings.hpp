// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/context.hpp"

namespace colonnade {

/// Adds the rings that the schedule asks for, without offsets; the segment's strips are set.
void add_rings(const PlanContext& context, SegmentPlan& segment, const LocalSegment& local,
               const ScheduleResult& schedule);

/// Bytes of all rings of a thread, were nothing chunked.
std::int64_t ring_bytes(const PlanContext& context, const SegmentPlan& segment, const LocalSegment& local,
                        const ScheduleResult& schedule);

}  // namespace colonnade
