// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "families/weight_room.hpp"
#include "graph/constant.hpp"

namespace colonnade {

/// Weights in a kernel's form. Whoever holds them keeps them in memory.
struct PackedWeights {
  std::shared_ptr<const float> floats;  ///< aligned to 64 bytes
  std::size_t bytes = 0;
};

/// Packed weights by the constant they were packed from and the format. Holds them as long as a program does.
/// Safe to use from several threads.
class WeightStore {
 public:
  /// Takes room for a constant's packed form and fills it.
  using Pack = std::function<WeightMemory(const Constant&, WeightRoom&)>;
  /// The packed form of `constant`; `pack` makes it when no program has it.
  PackedWeights get(const std::shared_ptr<const Constant>& constant, const std::string& format, const Pack& pack);
  /// Nothing unless a program has it.
  std::optional<PackedWeights> find(const std::shared_ptr<const Constant>& constant, const std::string& format);

  /// The elements of a constant that is read as it is.
  std::shared_ptr<const std::byte> plain(const std::shared_ptr<const Constant>& constant);

  /// Asked before something is packed for a node, and places what it has; may have nothing.
  using Source = std::function<std::optional<PackedWeights>(const Constant&, const std::string& format, int node)>;
  void set_source(Source source) { source_ = std::move(source); }

  /// Where what is packed from now on lies: copies a NUMA node, or all on the same ones.
  using Place = std::function<NumaNodes(int node)>;
  void set_place(Place place) { place_ = std::move(place); }
  /// The store for programs that run on a NUMA node: this one is node 0's, others have copies of their own.
  WeightStore& of_node(int node);
  /// Gives back the pages that no packed form lies on: once a program is complete.
  void trim();
  /// Of all packed forms that programs hold, on all nodes.
  std::size_t bytes() const;
  /// All packed forms that programs hold, of this node.
  std::vector<PackedWeights> held() const;

 private:
  struct Entry {
    std::weak_ptr<const Constant> constant;
    std::weak_ptr<const float> packed;
    std::size_t bytes = 0;
  };
  PackedWeights made(const std::shared_ptr<const Constant>& constant, const std::string& format, const Pack& pack);

  mutable std::mutex mutex_;
  int node_ = 0;
  WeightStore* first_ = nullptr;  ///< node 0's, of another node's
  Source source_;
  Place place_;
  WeightRoom room_;
  std::size_t kept_ = 64;  ///< entries after the last time that dead ones were dropped
  std::map<std::pair<const Constant*, std::string>, Entry> entries_;
  std::map<int, std::unique_ptr<WeightStore>> nodes_;  ///< but the first
};

}  // namespace colonnade
