// SPDX-License-Identifier: Apache-2.0
#include "base/run_memory.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/aligned_buffer.hpp"

namespace colonnade {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestIdle{1};
#if defined(COLONNADE_ASAN)
constexpr std::size_t kLeastBytes = AlignedBuffer::kMaxBytes;  // so that overruns are seen
#else
constexpr std::size_t kLeastBytes = std::size_t{128} << 10;  // from about here on allocators give pages back
#endif
constexpr std::size_t kMostBytes = AlignedBuffer::kMaxBytes / 2;

thread_local RunMemory* memory_of_thread = nullptr;

struct Pages {
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
};

void free_pages(const Pages& pages) noexcept { AlignedBuffer::free_released(pages.memory, pages.bytes); }

/// Tensors that grow from run to run, as caches of keys and values do, find what the last ones left.
std::size_t room_for(std::size_t bytes) {
  const std::size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

/// More than a tensor needs, but not much.
bool is_room_for(std::size_t room, std::size_t bytes) { return room >= bytes && room <= bytes + bytes / 4; }

}  // namespace

class RunPages {
 public:
  Pages take(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    const auto now = Clock::now();
    while (!kept_.empty() && kept_.front().since < now - kLongestIdle) drop_oldest();
    const Pages pages = take_kept(bytes);
    held_bytes_ += pages.bytes;
    most_bytes_ = std::max(most_bytes_, held_bytes_);
    while (held_bytes_ + kept_bytes_ > most_bytes_) drop_oldest();
    return pages;
  }

  void give(const Pages& pages) noexcept {
    const std::scoped_lock lock(mutex_);
    held_bytes_ -= pages.bytes;
    try {
      if (is_closed_) return free_pages(pages);
      kept_.push_back({pages, Clock::now()});
      kept_bytes_ += pages.bytes;
    } catch (const std::bad_alloc&) {
      free_pages(pages);
    }
  }

  void shrink(bool for_good) noexcept {
    const std::scoped_lock lock(mutex_);
    while (!kept_.empty()) drop_oldest();
    most_bytes_ = held_bytes_;
    is_closed_ = for_good;
  }

  std::size_t kept_bytes() const {
    const std::scoped_lock lock(mutex_);
    return kept_bytes_;
  }

 private:
  struct Kept {
    Pages pages;
    Clock::time_point since;
  };

  Pages take_kept(std::size_t bytes) {
    const auto found = std::find_if(kept_.begin(), kept_.end(),
                                    [&](const Kept& kept) { return is_room_for(kept.pages.bytes, bytes); });
    if (found == kept_.end()) {
      AlignedBuffer fresh(room_for(bytes));
      const std::size_t room = fresh.bytes();
      return {fresh.release(), room};
    }
    const Pages pages = found->pages;
    kept_bytes_ -= pages.bytes;
    kept_.erase(found);
    return pages;
  }

  void drop_oldest() noexcept {
    const Pages pages = kept_.front().pages;
    kept_bytes_ -= pages.bytes;
    kept_.erase(kept_.begin());
    free_pages(pages);
  }

  mutable std::mutex mutex_;
  std::vector<Kept> kept_;  ///< the longest unused first
  std::size_t kept_bytes_ = 0;
  std::size_t held_bytes_ = 0;  ///< by tensors
  std::size_t most_bytes_ = 0;  ///< that they held at once
  bool is_closed_ = false;
};

namespace {

/// Where the memory of tensors came from. Never destroyed: tensors of static objects are destroyed after it would be.
class Origins {
 public:
  static Origins& all() {
    static Origins& origins = *new Origins;
    return origins;
  }

  void add(void* memory, std::shared_ptr<RunPages> pages, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    origins_.insert_or_assign(memory, Origin{std::move(pages), bytes});
  }

  /// Null where it came from elsewhere.
  std::pair<std::shared_ptr<RunPages>, std::size_t> remove(void* memory) noexcept {
    const std::scoped_lock lock(mutex_);
    const auto found = origins_.find(memory);
    if (found == origins_.end()) return {};
    Origin origin = std::move(found->second);
    origins_.erase(found);
    return {std::move(origin.pages), origin.bytes};
  }

 private:
  struct Origin {
    std::shared_ptr<RunPages> pages;
    std::size_t bytes = 0;
  };
  std::mutex mutex_;
  std::unordered_map<void*, Origin> origins_;
};

}  // namespace

RunMemory::RunMemory() : pages_(std::make_shared<RunPages>()) {}
RunMemory::~RunMemory() { pages_->shrink(true); }
void RunMemory::shrink() noexcept { pages_->shrink(false); }
std::size_t RunMemory::kept_bytes() const { return pages_->kept_bytes(); }

RunMemory::Use::Use(RunMemory& memory) noexcept : before_(std::exchange(memory_of_thread, &memory)) {}
RunMemory::Use::~Use() { memory_of_thread = before_; }

std::byte* RunMemory::take(std::size_t bytes) {
  if (bytes < kLeastBytes || bytes >= kMostBytes || memory_of_thread == nullptr || AlignedBuffer::has_hooks())
    return nullptr;
  const std::shared_ptr<RunPages>& from = memory_of_thread->pages_;
  const Pages pages = from->take(bytes);
  try {
    Origins::all().add(pages.memory, from, pages.bytes);
  } catch (...) {
    from->give(pages);
    throw;
  }
  return pages.memory;
}

bool RunMemory::give_back(void* memory, std::size_t bytes) noexcept {
  if (bytes < kLeastBytes || bytes >= kMostBytes) return false;
  const auto [pages, room] = Origins::all().remove(memory);
  if (!pages) return false;
  pages->give({static_cast<std::byte*>(memory), room});
  return true;
}

}  // namespace colonnade
