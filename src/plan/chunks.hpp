// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/segment.hpp"

namespace colonnade {

/// Finds expand ... project chains in the segment, two pointwise contractions with channel-wise nodes between that
/// nobody else reads, and makes a chunk group of each whose middle tensor is wide enough.
void find_chunks(const PlanContext& context, LocalSegment& segment);

}  // namespace colonnade
