// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace colonnade {

/// Uninitialised memory aligned to 64 bytes; owns it. The only place that allocates raw memory. Large memory is the
/// system's own: freed, it is gone from the process.
class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;
  /// What is larger is refused without asking the allocator: sizes come from models.
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 40;
  /// From here on memory is of pages of its own, unless it comes from hooks.
  static constexpr std::size_t kMappedBytes = std::size_t{1} << 20;

  AlignedBuffer() = default;
  /// Throws Error{resource_limit} when the memory cannot be had. Zero bytes give a null buffer.
  explicit AlignedBuffer(std::size_t bytes);
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~AlignedBuffer() { free_released(memory_, bytes_); }

  std::byte* data() const { return memory_; }
  float* floats() const { return reinterpret_cast<float*>(memory_); }
  std::size_t bytes() const { return bytes_; }

  /// Gives whole pages from that byte on back to the system, where the memory has pages of its own; they come again,
  /// as zeros, when they are touched.
  void forget_from(std::size_t first) noexcept;
  /// Whether the system makes large pages of it, from now on and in the bytes below `end`: with large ones, touching
  /// memory takes fewer faults; small ones are joined when the system has the time. A hint.
  void allow_large_pages(bool allowed, std::size_t end) noexcept;
  /// Gives the memory up to the caller, who returns it with `free_released` and the size it was made with.
  std::byte* release() noexcept {
    bytes_ = 0;
    return std::exchange(memory_, nullptr);
  }
  static void free_released(void* memory, std::size_t bytes) noexcept;
  /// Memory that the program's hooks gave lies where they put it.
  static bool has_hooks() noexcept;

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace colonnade
