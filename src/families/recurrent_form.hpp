// SPDX-License-Identifier: Apache-2.0
// Recurrent networks as their kernels run them.
#pragma once

#include <array>
#include <optional>

#include "families/family.hpp"
#include "kernels/recurrent/recurrent.hpp"

namespace colonnade {

/// Sizes and functions of a Recurrent. Its units are blocks of the batch of each direction: sequences are independent.
struct RecurrentForm {
  RecurrentKind kind = RecurrentKind::lstm;
  std::int64_t directions = 1, gates = 1, steps = 1, batch = 1, depth = 1, hidden = 1;
  std::int64_t blocks = 1;
  bool packs = false;      ///< the weights are computed: packed when it runs
  bool plain = false;      ///< the functions are those that cells have by default
  bool linear = false;     ///< a GRU that multiplies before it resets
  bool backwards = false;  ///< the first direction
  bool single = false;     ///< a sample is one sequence: its products are partial sums (kernels::gemm)
  std::array<kernels::recurrent::Cell, 2> cells;  ///< by direction

  std::int64_t columns() const { return gates * hidden; }
  /// Of recurrent sums: those of a GRU's proposals are a product of their own.
  std::int64_t first_columns() const { return kind == RecurrentKind::gru ? 2 * hidden : columns(); }
  std::int64_t first_of(std::int64_t block) const { return block * batch / blocks; }
  std::int64_t packed_w_floats() const;  ///< of one direction
  std::int64_t packed_r_floats() const;
};

/// Where a unit keeps what it works with, in floats of its workspace.
struct RecurrentRoom {
  std::int64_t sums, other, state, cell, bias, lengths, order, w, r, end;
};
RecurrentRoom room_of(const RecurrentForm& form);

/// Nothing where the node's tensors are not those of its attributes.
std::optional<RecurrentForm> recurrent_form(const Candidate& node);

}  // namespace colonnade
