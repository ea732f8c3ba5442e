// SPDX-License-Identifier: Apache-2.0
// How work is divided among threads whose cores are not equally fast.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/topology.hpp"

namespace colonnade {

/// What each thread of a team takes: as much as its core is fast. Thread i runs on core i of the topology, the fastest
/// ones come first. Where a topology has fewer cores than there are parts, and where all are equally fast, parts are
/// equal.
class Shares {
 public:
  Shares() = default;
  explicit Shares(const Topology& topology);

  /// Of so much work, what lies before the part when so many parts divide it, by whole units.
  double before(std::int64_t part, std::int64_t parts, std::int64_t units, double work = 1) const;
  /// The first of `units` that the part takes; that of part `parts` is `units`.
  std::int64_t begin(std::int64_t units, std::int64_t part, std::int64_t parts) const;
  /// How many of the fastest cores do as much as those of so many threads.
  double width(int threads) const { return is_even(threads) ? threads : sum(threads) / sum(1); }
  /// What the fastest core does while that of the last thread does one.
  double slowest(int threads) const { return is_even(threads) ? 1 : sum(1) / speed(threads - 1); }
  /// How many of so many threads are on cores as fast as the first.
  int fast(int threads) const;
  /// What the part that ends last takes, over what all would if units could be divided at will.
  double busiest(std::int64_t units, int threads) const;

 private:
  bool is_even(std::int64_t parts) const;
  double sum(std::int64_t cores) const { return cores == 0 ? 0 : sums_[static_cast<std::size_t>(cores) - 1]; }
  double speed(std::int64_t core) const { return sum(core + 1) - sum(core); }
  double end(std::int64_t units, std::int64_t parts) const;

  std::vector<double> sums_;  ///< speeds of the first cores; empty where all are the same
};

}  // namespace colonnade
