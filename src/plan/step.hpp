// SPDX-License-Identifier: Apache-2.0
// What lists are made of: the plan finds their order, the program carries them, the executor runs them.
#pragma once

#include <cstdint>

#include "base/interval.hpp"
#include "base/numbers.hpp"
#include "graph/indices.hpp"

namespace colonnade {

/// What a list does next: run `node` for output rows [row_begin, row_end) (and one chunk of channels), or wait
/// until the next list has finished the rows of `node` below row_end.
struct Step {
  enum class Kind : std::uint8_t { run, wait };
  Kind kind = Kind::run;
  bool publish = false;  ///< the list above waits for rows of this node
  NodeIndex node{};
  std::int32_t row_begin = 0;
  std::int32_t row_end = 0;
  std::int32_t chunk = -1;  ///< -1: all channels
  bool operator==(const Step&) const = default;

  static Step run_rows(NodeIndex node, Interval rows, std::int32_t chunk = -1) {
    return {Kind::run, false, node, to_int32(rows.begin), to_int32(rows.end), chunk};
  }
  static Step wait_for(NodeIndex node, std::int64_t row_end) {
    return {Kind::wait, false, node, 0, to_int32(row_end), -1};
  }
};

}  // namespace colonnade
