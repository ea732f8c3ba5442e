// SPDX-License-Identifier: Apache-2.0
#include "base/small_blocks.hpp"

#include <cstdlib>
#include <utility>

namespace colonnade {
namespace {

#if defined(COLONNADE_ASAN)
constexpr std::size_t kMostKept = 0;  // so that what is used after it is freed is seen
#else
constexpr std::size_t kMostKept = 4096;
#endif

struct Block {
  Block* next;
};

/// Without a destructor, so that threads that end may still free.
struct Kept {
  Block* first = nullptr;
  std::size_t count = 0;
  bool is_closed = false;
};
thread_local Kept kept;

/// Gives back what an ending thread has kept.
struct Closing {
  ~Closing() {
    kept.is_closed = true;
    while (kept.first != nullptr) std::free(std::exchange(kept.first, kept.first->next));
  }
};

}  // namespace

void* SmallBlocks::take() noexcept {
  Kept& mine = kept;
  if (mine.first == nullptr) return std::malloc(kBytes);
  --mine.count;
  return std::exchange(mine.first, mine.first->next);
}

void SmallBlocks::give(void* block) noexcept {
  Kept& mine = kept;
  if (mine.count >= kMostKept || mine.is_closed) return std::free(block);
  if (mine.first == nullptr) {
    thread_local Closing closing;
    static_cast<void>(closing);
  }
  ++mine.count;
  mine.first = new (block) Block{mine.first};
}

}  // namespace colonnade
