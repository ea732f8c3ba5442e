// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "base/placement.hpp"

namespace colonnade {

/// Memory of programs that do not run at the same time, as much as the largest of them took: between runs it holds
/// nothing. Used by one thread at a time.
class Arena {
 public:
  /// Memory that is taken from now on lies there.
  void set_nodes(NumaNodes nodes) { nodes_ = std::move(nodes); }
  /// At least so many bytes, uninitialised where there were fewer. Throws Error{resource_limit} when the memory cannot
  /// be had; the arena is then empty.
  std::byte* reserve(std::size_t bytes) {
    if (bytes > bytes_) take(bytes);
    return memory_.data();
  }
  /// Gives memory back that is more than so many bytes.
  void shrink_to(std::size_t bytes) {
    if (bytes < bytes_) take(bytes);
  }
  std::size_t bytes() const { return bytes_; }
  std::byte* data() const { return memory_.data(); }

 private:
  /// What was there goes first: both together are never needed.
  void take(std::size_t bytes) {
    { const AlignedBuffer old = std::move(memory_); }
    bytes_ = 0;
    memory_ = placed_buffer(bytes, nodes_);
    bytes_ = bytes;
  }

  NumaNodes nodes_;
  AlignedBuffer memory_;
  std::size_t bytes_ = 0;
};

}  // namespace colonnade
