// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/aligned_buffer.hpp"
#include "graph/constant.hpp"

namespace colonnade {

/// Packed weights by the constant they were packed from and the format. Holds them as long as a program does.
/// Safe to use from several threads.
class WeightStore {
 public:
  /// The packed form of `constant`; `pack` makes it when no program has it.
  std::shared_ptr<const AlignedBuffer> get(const std::shared_ptr<const Constant>& constant, const std::string& format,
                                           const std::function<AlignedBuffer(const Constant&)>& pack);

  /// The store for programs that run on a NUMA node: this one is node 0's, others pack copies of their own, in memory
  /// that the calling thread touches first.
  WeightStore& of_node(int node);
  /// Of all packed forms that programs hold, on all nodes.
  std::size_t bytes() const;

 private:
  struct Entry {
    std::weak_ptr<const Constant> constant;
    std::weak_ptr<const AlignedBuffer> packed;
  };
  mutable std::mutex mutex_;
  std::size_t kept_ = 64;  ///< entries after the last time that dead ones were dropped
  std::map<std::pair<const Constant*, std::string>, Entry> entries_;
  std::map<int, std::unique_ptr<WeightStore>> nodes_;  ///< but the first
};

}  // namespace colonnade
