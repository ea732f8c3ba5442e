// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "base/aligned_buffer.hpp"
#include "base/placement.hpp"

namespace colonnade {

/// Memory for packed weights, uninitialised, aligned to 64 bytes. Whoever holds it keeps it.
struct WeightMemory {
  std::shared_ptr<float> memory;
  std::size_t size = 0;  ///< in bytes

  float* floats() const { return memory.get(); }
  std::byte* data() const { return reinterpret_cast<std::byte*>(memory.get()); }
  std::size_t bytes() const { return size; }
};

/// Gives memory for packed weights. Large ones have pages of their own. Others lie side by side in blocks that grow
/// with what was taken, for large pages come at one fault each, but where several threads fill them: then pages are
/// joined later, by the system. What is let go of is taken again by the next of its size. Take from one thread at a
/// time; let go from any.
class WeightRoom {
 public:
  /// Where memory lies that is taken from now on.
  void place_on(NumaNodes nodes);
  /// Throws Error{resource_limit} when the memory cannot be had.
  WeightMemory take(std::size_t bytes);
  /// Gives pages back that no weights lie on; those that are left may become large ones.
  void trim();

 private:
  class Block;
  WeightMemory take_from(const std::shared_ptr<Block>& block, std::size_t bytes);

  NumaNodes nodes_;
  std::weak_ptr<Block> block_;  ///< the newest
  std::size_t taken_ = 0;       ///< bytes of all blocks
};

}  // namespace colonnade
