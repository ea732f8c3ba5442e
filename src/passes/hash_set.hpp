// SPDX-License-Identifier: Apache-2.0
// Strings, known by their hashes alone: what is made for each of hundreds of passes has to be made quickly.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace colonnade::rewrite {

class HashSet {
 public:
  bool empty() const { return count_ == 0; }
  /// True for what was inserted; for anything else with a chance of one in 2^64.
  bool has(std::string_view text) const { return count_ > 0 && slots_[slot_of(hash_of(text))] != 0; }
  void insert(std::string_view text) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    std::size_t& slot = slots_[slot_of(hash_of(text))];
    count_ += slot == 0 ? 1 : 0;
    slot = hash_of(text);
  }

 private:
  static std::size_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text) | 1; }  // 0 is free

  /// Where the hash lies, or may lie.
  std::size_t slot_of(std::size_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = (hash >> 1) & mask;
    while (slots_[slot] != 0 && slots_[slot] != hash) slot = (slot + 1) & mask;
    return slot;
  }

  void grow() {
    constexpr std::size_t kFirst = 1024;
    const std::vector<std::size_t> before = std::exchange(slots_, {});
    slots_.resize(before.empty() ? kFirst : 4 * before.size(), 0);
    for (const std::size_t hash : before)
      if (hash != 0) slots_[slot_of(hash)] = hash;
  }

  std::vector<std::size_t> slots_;  ///< a power of two of them, at least half free
  std::size_t count_ = 0;
};

}  // namespace colonnade::rewrite
