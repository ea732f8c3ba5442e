// SPDX-License-Identifier: Apache-2.0
// Predicted time of a segment that grows towards the graph's inputs, a node at a time, for one step and strip count.
#pragma once

#include "plan/context.hpp"

namespace colonnade {

/// What a node of a segment takes, all rows, images and strips together.
struct NodePrice {
  double seconds = 0;   ///< of arithmetic, and of what starting its kernel leaves idle
  double streamed = 0;  ///< of memory beyond L2, before arithmetic hides some of it
  double met = 0;       ///< likewise where nothing hides it
  double visits = 0;    ///< times its kernel is called, chunks apart
};

/// Arithmetic at each kernel's rate, plus for each byte what it takes longer than from L2: what the step before or
/// after touches is as far as one node's step is large; what comes back a step later (the rows above a window, the
/// weights) as far as all that a step touches; what comes back many steps later (skip connections) as far as all that
/// the segment keeps; whole tensors as far as they are large. Rows that are alive are found by asking in the middle of
/// the segment, against the flow, what a step needs: an edge an update, no walk.
class SegmentEstimate {
 public:
  SegmentEstimate(const PlanContext& context, const Team& team, std::int64_t strips);

  /// Starts anew with segments that end before position `end` of the order. 0 rows a step: all in one step.
  void start(std::size_t end, std::int64_t rows_per_step);
  /// Takes the node at the next lower position in. False: it cannot run in so many strips.
  bool add();

  NodePrice price(std::size_t position) const;
  /// What memory beyond L2 adds to the arithmetic of all nodes. A walk over them.
  double memory_seconds() const;
  /// Of all threads together, or of one thread alone, with what a start of the threads' work costs. `memory` is what
  /// `memory_seconds` says.
  double microseconds(int threads, double memory) const;
  double arithmetic_us(int threads) const;
  /// What its memory is worth: decides between segments that are about as fast.
  double memory_price_us(int threads) const;
  /// Whether so many threads can share it: bands are higher than their skew, or rounds are shared.
  bool splits(int threads) const;
  /// Whether threads take images, each a whole one, or, where an image has fewer rows than threads, strips.
  bool shares_rounds(int threads) const;
  /// What steps so small save that nodes read from L1 what the ones before wrote.
  double near_saving_us(int threads) const;
  std::int64_t sink_rows() const { return sink_rows_; }
  std::size_t begin() const { return begin_; }

 private:
  /// What is known of a node of the segment, by position.
  struct State {
    std::int64_t before = 0, after = 0;  ///< rows computed before and after the step in the middle
    std::int64_t band = 0;               ///< where a second band would start
    Interval columns;                    ///< of the strip in the middle
    double recomputed = 1;               ///< columns computed over columns there are
    double visits = 0;                   ///< times its kernel is called
    std::int64_t whole_bytes = 0;        ///< read from and written to whole tensors
    double whole_seconds = 0;            ///< what they take beyond L2
    double seconds = 0;                  ///< of arithmetic
    double near_seconds = 0;             ///< beyond L2, of what it touches in rings
    double chunk_seconds = 0;            ///< the same, chunk by chunk
    std::int64_t step_bytes = 0;         ///< that a step touches
    double saved_seconds = 0;            ///< of what it reads from rings in L1
    double far_bytes = 0;                ///< weights and rows read a step later, by all threads
    double late_bytes = 0;               ///< rows of rings that hold far more than a step touches: skip connections
    bool whole = false;
  };

  /// `far` and `late`: seconds a byte of far_bytes and late_bytes.
  static NodePrice price_of(const State& state, double far, double late);

  /// A reader within the segment.
  struct Inner {
    const Reader& reader;
    State& state;
  };
  /// Calls `visit` with each.
  template <typename Visit>
  void for_inner(NodeIndex node, Visit&& visit);
  State& state_at(std::size_t position) { return states_[end_ - 1 - position]; }
  const State& state_at(std::size_t position) const { return states_[end_ - 1 - position]; }
  NodeIndex last() const { return context_.order.nodes[end_ - 1]; }
  bool start_again_with(std::int64_t sinks);
  void take_rows(State& state, NodeIndex node);
  std::int64_t live_rows(const State& state, NodeIndex node);
  void take_band(State& state, NodeIndex node);
  bool take_columns(State& state, NodeIndex node);
  void take_traffic(State& state, NodeIndex node);
  void take_whole(State& state, std::int64_t bytes);
  std::int64_t rows_read(const State& state, NodeIndex node);
  void take_ring(State& state, NodeIndex node, std::int64_t step_rows, double written);
  void feed_consumers(NodeIndex node);
  double beyond(std::int64_t bytes) const;
  bool has_bands(int threads) const;
  std::int64_t sink_units() const;

  const PlanContext& context_;
  const Team& team_;
  const std::int64_t strips_;
  std::int64_t rows_per_step_ = 0;
  std::size_t end_ = 0, begin_ = 0;
  std::int64_t sink_rows_ = 0;
  std::int64_t images_ = 1;
  bool apart_ = true;          ///< strips write no column of a whole tensor twice
  std::vector<State> states_;  ///< of the last node first: as many as the longest segment so far
  double compute_ = 0;         ///< seconds of one thread
  double unbalanced_ = 0;      ///< seconds of one thread, as if the busiest thread's share was everyone's
  double cold_ = 0;            ///< seconds to read the weights once
  double price_ = 0;           ///< seconds that memory is worth
  double visits_ = 0;
  double skew_ = 0;        ///< how far above its sinks a band starts, as a share of all rows
  double work_above_ = 0;  ///< seconds of the nodes, each times how far above the sinks it starts
  double work_ = 0;        ///< seconds of the nodes
  std::int64_t ring_bytes_ = 0;
  std::int64_t resident_bytes_ = 0;  ///< of rings and weights
  std::int64_t touched_bytes_ = 0;   ///< of them, by a step
};

}  // namespace colonnade
