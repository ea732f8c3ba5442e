// SPDX-License-Identifier: Apache-2.0
#include "base/aligned_buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/error.hpp"
#include "base/small_blocks.hpp"
#include "colonnade/colonnade.hpp"

namespace colonnade {
namespace {

#if defined(COLONNADE_ASAN)
constexpr std::size_t kAskedBytes = AlignedBuffer::kMaxBytes;  // so that overruns are seen
constexpr std::size_t kSmallBytes = 0;
#else
constexpr std::size_t kAskedBytes = AlignedBuffer::kMappedBytes;  ///< from here on the system is asked
/// Up to here a small block has room for the elements, wherever it lies: memory is of whole alignments.
constexpr std::size_t kSmallBytes = AlignedBuffer::kAlignment;
static_assert(2 * AlignedBuffer::kAlignment + sizeof(void*) <= SmallBlocks::kBytes);
#endif

/// Small memory, aligned by hand; where its block begins stands before it.
std::byte* allocate_small() {
  constexpr std::size_t kAlignment = AlignedBuffer::kAlignment;
  auto* const given = static_cast<std::byte*>(SmallBlocks::take());
  if (given == nullptr) return nullptr;
  const auto first = reinterpret_cast<std::uintptr_t>(given) + sizeof(void*);
  std::byte* const memory = given + sizeof(void*) + (-first & (kAlignment - 1));
  std::memcpy(memory - sizeof(void*), &given, sizeof(void*));
  return memory;
}

void free_small(void* memory) {
  void* given = nullptr;
  std::memcpy(&given, static_cast<std::byte*>(memory) - sizeof(void*), sizeof(void*));
  SmallBlocks::give(given);
}

/// Memory that came from hooks, and the hooks that it goes back to. Costs nothing until there are any.
class HookedMemory {
 public:
  void set(const AllocationHooks& hooks) {
    if ((hooks.allocate == nullptr) != (hooks.release == nullptr))
      fail(ErrorCode::invalid_argument, "allocation hooks: one of allocate and release is null");
    const std::scoped_lock lock(mutex_);
    hooks_ = hooks;
    if (hooks.allocate != nullptr) is_used_.store(true, std::memory_order_release);
  }

  /// Nothing when there are no hooks; null when they have no memory.
  std::optional<void*> allocate(std::size_t bytes) {
    if (!is_used_.load(std::memory_order_acquire)) return std::nullopt;
    const AllocationHooks hooks = current();
    if (hooks.allocate == nullptr) return std::nullopt;
    void* const memory = hooks.allocate(bytes, AlignedBuffer::kAlignment, hooks.user);
    if (memory == nullptr) return nullptr;
    try {
      if (reinterpret_cast<std::uintptr_t>(memory) % AlignedBuffer::kAlignment != 0)
        fail(ErrorCode::invalid_argument, "allocation hooks: memory that is not aligned to {} bytes",
             AlignedBuffer::kAlignment);
      const std::scoped_lock lock(mutex_);
      owners_[memory] = hooks;
    } catch (...) {
      hooks.release(memory, bytes, hooks.user);
      throw;
    }
    return memory;
  }

  bool owns(const void* memory) noexcept {
    if (!is_used()) return false;
    const std::scoped_lock lock(mutex_);
    return owners_.contains(const_cast<void*>(memory));
  }

  bool is_used() const noexcept { return is_used_.load(std::memory_order_acquire); }

  /// False when the memory came from elsewhere.
  bool release(void* memory, std::size_t bytes) noexcept {
    if (!is_used_.load(std::memory_order_acquire)) return false;
    AllocationHooks owner;
    {
      const std::scoped_lock lock(mutex_);
      const auto found = owners_.find(memory);
      if (found == owners_.end()) return false;
      owner = found->second;
      owners_.erase(found);
    }
    owner.release(memory, bytes, owner.user);
    return true;
  }

 private:
  AllocationHooks current() {
    const std::scoped_lock lock(mutex_);
    return hooks_;
  }

  std::atomic<bool> is_used_{false};
  std::mutex mutex_;
  AllocationHooks hooks_;
  std::unordered_map<void*, AllocationHooks> owners_;
};

/// Never destroyed: memory of static objects is released after it would be.
HookedMemory& hooked_memory() {
  static HookedMemory& memory = *new HookedMemory;
  return memory;
}

std::byte* map_pages(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
#if defined(MADV_HUGEPAGE)
  ::madvise(memory, bytes, MADV_HUGEPAGE);  // fewer faults; a hint
#endif
  return static_cast<std::byte*>(memory);
}

std::byte* allocate(std::size_t bytes) {
  if (bytes >= AlignedBuffer::kMaxBytes) return nullptr;
  if (const auto hooked = hooked_memory().allocate(bytes)) return static_cast<std::byte*>(*hooked);
  if (bytes >= kAskedBytes) return map_pages(bytes);
  if (bytes <= kSmallBytes) return allocate_small();
  constexpr std::size_t kAlignment = AlignedBuffer::kAlignment;
  return static_cast<std::byte*>(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
}

}  // namespace

AlignedBuffer::AlignedBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  memory_ = allocate(bytes);
  if (memory_ == nullptr) fail(ErrorCode::resource_limit, "cannot allocate {} bytes", bytes);
}

void AlignedBuffer::free_released(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr || hooked_memory().release(memory, bytes)) return;
  if (bytes >= kAskedBytes) {
    ::munmap(memory, bytes);
  } else if (bytes <= kSmallBytes) {
    free_small(memory);
  } else {
    std::free(memory);
  }
}

void AlignedBuffer::forget_from(std::size_t first) noexcept {
  if (bytes_ < kAskedBytes || hooked_memory().owns(memory_)) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGE_SIZE));
  const auto memory = reinterpret_cast<std::uintptr_t>(memory_);
  const std::uintptr_t begin = (memory + first + page - 1) / page * page, end = memory + bytes_;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void AlignedBuffer::allow_large_pages(bool allowed, std::size_t end) noexcept {
#if defined(MADV_HUGEPAGE)
  if (bytes_ < kAskedBytes || hooked_memory().owns(memory_)) return;
  ::madvise(memory_, std::min(end, bytes_), allowed ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
}

bool AlignedBuffer::has_hooks() noexcept { return hooked_memory().is_used(); }

void set_allocation_hooks(const AllocationHooks& hooks) { hooked_memory().set(hooks); }

}  // namespace colonnade
