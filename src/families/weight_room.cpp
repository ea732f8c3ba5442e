// SPDX-License-Identifier: Apache-2.0
#include "families/weight_room.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/parts.hpp"

namespace colonnade {
namespace {

constexpr std::size_t kLeastBlock = std::size_t{32} << 10, kMostBlock = std::size_t{32} << 20;
constexpr std::size_t kGrowth = 8;  ///< times what was taken: pages that nothing touches cost nothing
constexpr std::size_t kLargePage = std::size_t{2} << 20;

#if defined(COLONNADE_ASAN)
constexpr std::size_t kSharedBytes = 0;  // so that overruns are seen
#else
constexpr std::size_t kSharedBytes = AlignedBuffer::kMappedBytes;  ///< what is smaller shares a block
#endif

std::size_t whole(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

std::size_t next_block(std::size_t taken, std::size_t least) {
  const std::size_t bytes = std::clamp(kGrowth * taken, std::max(kLeastBlock, least), kMostBlock);
  return bytes < AlignedBuffer::kMappedBytes ? bytes : whole(bytes, kLargePage);
}

}  // namespace

/// Taken from front to back; its memory lives as long as any piece of it.
class WeightRoom::Block {
 public:
  explicit Block(AlignedBuffer memory) : memory_(std::move(memory)) {
    // Large pages that several threads touch first may cost more than a load (docs/decisions/033-install-and-start.md).
    if (is_helped()) memory_.allow_large_pages(false, memory_.bytes());
  }

  /// Null when it has no room.
  std::byte* take(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = free_.find(bytes); found != free_.end()) {
      std::byte* const place = found->second;
      free_.erase(found);
      return place;
    }
    if (memory_.bytes() - used_ < bytes) return nullptr;
    return memory_.data() + std::exchange(used_, used_ + bytes);
  }

  void give(std::byte* place, std::size_t bytes) noexcept {
    const std::scoped_lock lock(mutex_);
    try {
      free_.emplace(bytes, place);
    } catch (const std::bad_alloc&) {
      // stays unused as long as the block lives
    }
  }

  void trim() {
    const std::scoped_lock lock(mutex_);
    memory_.forget_from(used_);
    memory_.allow_large_pages(true, used_);
  }

 private:
  AlignedBuffer memory_;
  std::mutex mutex_;
  std::size_t used_ = 0;
  std::multimap<std::size_t, std::byte*> free_;  ///< by size
};

void WeightRoom::place_on(NumaNodes nodes) {
  if (nodes == nodes_) return;
  trim();
  nodes_ = std::move(nodes);
  block_.reset();
}

WeightMemory WeightRoom::take_from(const std::shared_ptr<Block>& block, std::size_t bytes) {
  const std::size_t room = whole(bytes, AlignedBuffer::kAlignment);
  std::byte* const place = block ? block->take(room) : nullptr;
  if (place == nullptr) return {};
  return {{reinterpret_cast<float*>(place),
           [block, room](float* memory) { block->give(reinterpret_cast<std::byte*>(memory), room); }},
          bytes};
}

WeightMemory WeightRoom::take(std::size_t bytes) {
  if (bytes == 0) return {};
  if (bytes >= kSharedBytes || AlignedBuffer::has_hooks()) {
    const auto kept = std::make_shared<AlignedBuffer>(placed_buffer(bytes, nodes_));
    return {{kept, kept->floats()}, bytes};
  }
  if (WeightMemory found = take_from(block_.lock(), bytes); found.memory) return found;
  trim();
  const std::size_t size = next_block(taken_, whole(bytes, AlignedBuffer::kAlignment));
  const auto block = std::make_shared<Block>(placed_buffer(size, nodes_));
  taken_ += size;
  block_ = block;
  return take_from(block, bytes);
}

void WeightRoom::trim() {
  if (const auto block = block_.lock()) block->trim();
}

}  // namespace colonnade
