// SPDX-License-Identifier: Apache-2.0
#include "plan/arena.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"

namespace colonnade {

std::int64_t place_blocks(std::vector<Block>& blocks) {
  constexpr std::int64_t kAlignment = 64;
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<std::size_t> placed;  // by offset
  std::int64_t size = 0;
  for (const std::size_t index : order) {
    Block& block = blocks[index];
    const std::int64_t bytes = round_up(block.bytes, kAlignment);
    std::int64_t offset = 0;
    for (const std::size_t other_index : placed) {
      const Block& other = blocks[other_index];
      if (other.last < block.first || block.last < other.first) continue;
      if (offset + bytes <= other.offset) break;
      offset = std::max(offset, other.offset + round_up(other.bytes, kAlignment));
    }
    block.offset = offset;
    size = std::max(size, checked_add(offset, bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](std::size_t a, std::size_t b) { return blocks[a].offset < blocks[b].offset; }),
                  index);
  }
  return size;
}

}  // namespace colonnade
