// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/context.hpp"

namespace colonnade {

/// Assigns every value a place and every ring, workspace and whole tensor an offset in the arena; sets its size.
void place_values(const PlanContext& context, Plan& plan);

}  // namespace colonnade
