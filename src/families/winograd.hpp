// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "families/family.hpp"

namespace colonnade {

/// What a convolution by tiles of `tile` outputs counts: the operations of a direct 3x3 sum, padding included, times
/// the products of its tile over those of F(4x4, 3x3), 36 for 16 outputs.
double winograd_flop(const Subject& node, std::int64_t tile);

}  // namespace colonnade
