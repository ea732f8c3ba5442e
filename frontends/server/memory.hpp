// SPDX-License-Identifier: Apache-2.0
// What loaded models take, counted against what the host has for them.
#pragma once

#include <atomic>
#include <cstddef>

namespace colonnade::serve {

/// What the process may take at most: its container's limit, else the machine's memory, less a reserve.
std::size_t usable_memory();

/// Gives the system what freed models, and what loads took meanwhile, left in the allocator: up to some MiB a thread.
void return_free_memory();

/// Thread-safe; outlives its shares.
class Memory {
 public:
  explicit Memory(std::size_t limit) : limit_(limit) {}

  std::size_t limit() const { return limit_; }  ///< 0: none
  std::size_t taken() const { return taken_; }
  std::size_t left() const;

 private:
  friend class MemoryShare;
  const std::size_t limit_;
  std::atomic<std::size_t> taken_{0};
};

/// What one model takes; given back when this is destroyed. One thread at a time.
class MemoryShare {
 public:
  explicit MemoryShare(Memory& memory) : memory_(&memory) {}
  MemoryShare(MemoryShare&& other) noexcept : memory_(other.memory_), bytes_(other.bytes_) { other.bytes_ = 0; }
  MemoryShare& operator=(MemoryShare&&) = delete;
  ~MemoryShare() { memory_->taken_ -= bytes_; }

  std::size_t bytes() const { return bytes_; }
  /// False, and nothing has changed, where it would be more than there is.
  bool set(std::size_t bytes);

 private:
  Memory* memory_;
  std::size_t bytes_ = 0;
};

}  // namespace colonnade::serve
