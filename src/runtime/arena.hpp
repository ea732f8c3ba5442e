// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/aligned_buffer.hpp"

namespace colonnade {

/// Memory of programs that do not run at the same time, as much as the largest of them took: between runs it holds
/// nothing. Used by one thread at a time.
class Arena {
 public:
  /// At least so many bytes, uninitialised where there were fewer. Throws Error{resource_limit} when the memory cannot
  /// be had; the arena is then empty.
  std::byte* reserve(std::size_t bytes) {
    if (bytes > memory_.bytes()) take(bytes);
    return memory_.data();
  }
  /// Gives memory back that is more than so many bytes.
  void shrink_to(std::size_t bytes) {
    if (bytes < memory_.bytes()) take(bytes);
  }
  std::size_t bytes() const { return memory_.bytes(); }

 private:
  /// What was there goes first: both together are never needed.
  void take(std::size_t bytes) {
    { const AlignedBuffer old = std::move(memory_); }
    memory_ = AlignedBuffer(bytes);
  }

  AlignedBuffer memory_;
};

}  // namespace colonnade
