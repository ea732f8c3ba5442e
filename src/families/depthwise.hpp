// SPDX-License-Identifier: Apache-2.0
// Filters of one channel each, as kernels read them.
#pragma once

#include "families/lower.hpp"

namespace colonnade {

/// Filters [channels, 1, kernel...] as [tap][channel].
WeightMemory pack_depthwise(const Constant& weight, WeightRoom& room);

}  // namespace colonnade
