// SPDX-License-Identifier: Apache-2.0
// Answers that are given again to requests that are equal to the last bit.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontends/server/memory.hpp"
#include "frontends/server/queue.hpp"

namespace colonnade::serve {

/// Of all models. Any thread may call.
class ResponseCache {
 public:
  using Outputs = std::shared_ptr<const std::vector<OutputTensor>>;
  struct Counts {
    std::size_t limit = 0, bytes = 0, entries = 0, evictions = 0;
  };

  /// Takes `limit` bytes of the memory at once; 0: keeps nothing. Throws Failure where there are not so many.
  ResponseCache(std::size_t limit, Memory& memory);

  bool is_on() const { return limit_ > 0; }
  /// The SHA-256 of what the answer depends on: which load of a model, the inputs, the outputs that are asked for.
  static std::string key_of(std::uint64_t load, const Job& job);
  /// Null when it is not there.
  Outputs find(const std::string& key);
  /// Keeps a copy; what was not asked for the longest time goes first. More than fits at all is not kept.
  void add(std::uint64_t load, const std::string& key, const std::vector<OutputTensor>& outputs);
  /// Everything of a load, which gets no more answers.
  void forget(std::uint64_t load);
  Counts counts() const;

 private:
  struct Entry {
    std::string key;
    std::uint64_t load = 0;
    Outputs outputs;
    std::size_t bytes = 0;
  };
  using Entries = std::list<Entry>;
  void drop(Entries::iterator entry);

  const std::size_t limit_;
  MemoryShare share_;
  mutable std::mutex mutex_;  ///< of what follows
  Entries entries_;           ///< the one that was asked for last is the first
  std::unordered_map<std::string, Entries::iterator> places_;
  std::size_t bytes_ = 0, evictions_ = 0;
};

}  // namespace colonnade::serve
