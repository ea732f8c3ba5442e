// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/error.hpp"

namespace colonnade {

/// Uninitialised memory aligned to 64 bytes; owns it. The only place that allocates raw memory.
class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;
  /// What is larger is refused without asking the allocator: sizes come from models.
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 40;

  AlignedBuffer() = default;
  /// Throws Error{resource_limit} when the memory cannot be had. Zero bytes give a null buffer.
  explicit AlignedBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    memory_.reset(bytes < kMaxBytes ? static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)) : nullptr);
    if (!memory_) fail(ErrorCode::resource_limit, "cannot allocate {} bytes", bytes);
  }

  std::byte* data() const { return memory_.get(); }
  float* floats() const { return reinterpret_cast<float*>(memory_.get()); }
  std::size_t bytes() const { return bytes_; }

  /// Gives the memory up to the caller, who returns it with `free_released`.
  std::byte* release() noexcept {
    bytes_ = 0;
    return memory_.release();
  }
  static void free_released(void* memory) noexcept { std::free(memory); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace colonnade
