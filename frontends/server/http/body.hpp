// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "frontends/server/clients.hpp"

namespace colonnade::serve::http {

/// Bytes that arrive part by part into one block, of which `aligned` lies on a 64-byte boundary: the tensors behind
/// a JSON header are then read where they arrived. The block is followed by readable memory (`kPadding`), which the
/// JSON parser asks for.
class Body {
 public:
  static constexpr std::size_t kPadding = 64;

  Body() = default;
  /// `expected` bytes are reserved at once; more may come. All are lent: what would be too much is thrown as
  /// Failure{resource_exhausted}.
  Body(std::size_t aligned, std::size_t expected, Lease lease = {});

  std::size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data(), size_}; }
  void append(std::span<const std::byte> bytes);
  /// Room for at least one byte behind those that are there; `commit` says how many were filled.
  std::span<std::byte> room();
  void commit(std::size_t count) { size_ += count; }
  /// Keeps the bytes alive, and lent.
  std::shared_ptr<const void> owner() const { return block_; }
  /// Of whom the bytes are lent.
  Lease another_lease() const { return block_ ? block_->lease.another() : lease_.another(); }

 private:
  struct Block {
    Lease lease;
    std::unique_ptr<std::byte[]> bytes;
  };
  std::byte* data() const { return block_ ? block_->bytes.get() + offset_ : nullptr; }
  void grow(std::size_t capacity);

  Lease lease_;  ///< until there is a block
  std::shared_ptr<Block> block_;
  std::size_t aligned_ = 0, offset_ = 0, size_ = 0, capacity_ = 0;
};

}  // namespace colonnade::serve::http
