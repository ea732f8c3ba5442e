// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace colonnade {

/// Memory that is live from segment `first` to segment `last`, both included.
struct Block {
  std::int64_t bytes = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int64_t offset = 0;  ///< set by place_blocks, a multiple of 64
};

/// Gives every block an offset such that blocks live at the same time do not overlap; largest first, lowest gap that
/// fits. Returns the arena's size.
std::int64_t place_blocks(std::vector<Block>& blocks);

}  // namespace colonnade
