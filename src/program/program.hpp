// SPDX-License-Identifier: Apache-2.0
// The plan lowered to what a session obeys: flat lists of steps, operators with kernel pointers and packed weights, and
// views that say where each thread finds the rows of a value. Immutable; shared by sessions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "families/row_op.hpp"
#include "plan/step.hpp"

namespace colonnade {

/// What a value looks like in one strip.
struct StripView {
  ValueId value;
  View view;
};

struct ProgramSegment {
  std::vector<std::vector<Step>> lists;  ///< one a thread; a single one when rounds are shared
  bool share_rounds = false;             ///< threads take images, or strips of them, each a whole one
  std::int64_t images = 1;
  std::int64_t turns = 1;  ///< in which the units of a whole tensor run
  /// [strip][list]: of all values that the segment's nodes mention; empty: as Program::views has them.
  std::vector<std::vector<std::vector<StripView>>> strip_views;
  std::int64_t scratch_offset = 0;
  std::int64_t shared_bytes = 0;
  std::int64_t scratch_bytes = 0;
  int participants = 1;  ///< threads that have work
};

/// A graph output whose bytes are made elsewhere: an input, a constant, a view of another output.
struct OutputCopy {
  std::int32_t base = 0;
  std::int64_t offset = 0;
  std::int32_t output = 0;
  std::int64_t bytes = 0;
};

struct Program {
  static constexpr int kArena = 0;
  static constexpr int kFirstInput = 1;
  int threads = 1;
  std::int64_t arena_bytes = 0;
  std::int64_t weights_bytes = 0;
  std::size_t pointer_count = 0;       ///< of the largest step
  ByNode<std::unique_ptr<RowOp>> ops;  ///< null for views
  ByNode<std::string> op_names;        ///< node names
  ByNode<std::string> op_kinds;
  std::vector<ProgramSegment> segments;
  std::vector<ByValue<View>> views;                ///< by list
  std::vector<const std::byte*> constants;         ///< bases after inputs and outputs
  std::vector<std::shared_ptr<const void>> owned;  ///< constants and packed weights
  std::vector<OutputCopy> copies;
  std::vector<Island> islands;
  std::vector<DType> input_types, output_types;
  std::vector<Shape> input_shapes, output_shapes;
  std::vector<std::int32_t> overwrites;  ///< by output, the input in whose memory it may be written; -1: none
  double flop = 0;
  bool keeps_subnormals = false;  ///< else they count as zero while it runs
  bool is_brief = false;          ///< threads that sleep are not worth waking for it

  std::size_t base_count() const { return 1 + input_shapes.size() + output_shapes.size() + constants.size(); }
};

/// By value, for a list in a round of a segment. What a strip has of its own is put into `room`, which is the list's.
const View* views_of(const Program& program, const ProgramSegment& segment, std::size_t list, std::int64_t round,
                     std::vector<View>& room);

std::string to_text(const Program& program);

}  // namespace colonnade
