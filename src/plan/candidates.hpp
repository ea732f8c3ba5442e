// SPDX-License-Identifier: Apache-2.0
// How nodes next to each other in the order may run as one segment, and what that is predicted to take.
#pragma once

#include <limits>
#include <vector>

#include "plan/estimate.hpp"

namespace colonnade {

struct SegmentCandidate {
  double us = std::numeric_limits<double>::infinity();
  double arithmetic_us = 0;
  std::int64_t rows_per_step = 0;
  std::int64_t strips = 1;
  int threads = 1;
  bool channels = false;
  std::int64_t bands = 1;
  bool rounds = false;
  double memory_price_us = 0;
  /// What decides between candidates.
  double cost() const { return us + memory_price_us; }
};

/// A contraction whose threads take output channels, of all rows or of a band of them: each reads the rows and its
/// share of the weights.
SegmentCandidate by_channels(const PlanContext& context, const Team& team, NodeIndex node);
/// A node that does not run by rows.
SegmentCandidate whole_node(const PlanContext& context, const Team& team, NodeIndex node);

/// Segments that end at one position, growing towards the inputs: one estimate for each step and number of strips.
class Growth {
 public:
  Growth(const PlanContext& context, const Team& team, const Wish& wish);

  void start(std::size_t end);
  /// Takes the next node in; its best candidate alone, which the sum of layers is made of, is `alone_us`.
  SegmentCandidate add(double alone_us);
  bool alive() const;

 private:
  struct Run {
    std::int64_t strips = 1, step = 1;
    SegmentEstimate estimate;
    bool alive = true;
    SegmentCandidate candidate{};  ///< of the nodes so far, where it is one
  };
  bool is_of_use(const Run& run, std::int64_t rows) const;
  bool catch_up(Run& run) const;
  SegmentCandidate with_near_steps(SegmentCandidate best) const;

  const Team& team_;
  const Wish& wish_;
  std::vector<Run> runs_;
  std::size_t end_ = 0, length_ = 0;
  double layers_us_ = 0;
};

}  // namespace colonnade
