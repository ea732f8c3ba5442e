// SPDX-License-Identifier: Apache-2.0
// What a GroupedProduct reads of its attributes and shapes: shared by its definition and its kernels.
#pragma once

#include <cstdint>

#include "graph/opaque.hpp"

namespace colonnade::reference {

inline constexpr std::size_t kGroupedRows = 0, kGroupedMatrices = 1, kGroupedEnds = 2, kGroupedBias = 3;

struct GroupedSizes {
  std::int64_t groups = 1;
  std::int64_t repeats = 1;  ///< rows that come from one row of the model: in how many groups it is
};
/// Throws Error{invalid_model} for attributes that are no good.
GroupedSizes grouped_sizes_of(const Opaque& op);

}  // namespace colonnade::reference
