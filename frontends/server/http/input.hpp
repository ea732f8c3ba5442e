// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "frontends/server/http/reader.hpp"

namespace colonnade::serve::http {

/// Bytes that have come and are not yet understood.
class Input {
 public:
  std::span<const std::byte> bytes() const { return {block_.data() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  void consume(std::size_t count) { begin_ += count; }
  /// Free bytes behind those that are there; none when it is full.
  std::span<std::byte> room() {
    if (begin_ > 0) {
      std::memmove(block_.data(), block_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    return std::span(block_).subspan(end_);
  }
  void commit(std::size_t count) { end_ += count; }
  void clear() { begin_ = end_ = 0; }

 private:
  /// Longer than a head and a chunk's line may be, so that whatever waits for more has room for it.
  static constexpr std::size_t kBytes = 2 * Reader::kMostHeadBytes;

  std::vector<std::byte> block_ = std::vector<std::byte>(kBytes);
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace colonnade::serve::http
