// SPDX-License-Identifier: Apache-2.0
// Recurrent networks as their kernels run them.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "base/interval.hpp"
#include "families/family.hpp"
#include "families/narrow_form.hpp"
#include "families/weight_room.hpp"
#include "kernels/recurrent/recurrent.hpp"

namespace colonnade {

/// Sizes and functions of a Recurrent. Its units are blocks of the batch of each direction, as sequences are
/// independent, or, where that makes one block, parts of the hidden state: all parts take a step before any takes the
/// next.
struct RecurrentForm {
  RecurrentKind kind = RecurrentKind::lstm;
  std::int64_t directions = 1, gates = 1, steps = 1, batch = 1, depth = 1, hidden = 1;
  std::int64_t blocks = 1;
  std::int64_t parts = 1;
  std::int64_t part_size = 1;  ///< elements of the hidden state that a part makes; the last may have fewer
  bool packs = false;          ///< the weights are computed: packed when it runs
  bool plain = false;          ///< the functions are those that cells have by default
  bool linear = false;         ///< a GRU that multiplies before it resets
  bool backwards = false;      ///< the first direction
  bool single = false;         ///< a sample is one sequence: its products are partial sums (kernels::gemm)
  /// Weights of inputs and recurrent ones that stay narrow, as rows of all gates of all directions. Parts are whole
  /// panels of them.
  std::optional<NarrowForm> narrow_w, narrow_r;
  std::array<kernels::recurrent::Cell, 2> cells;  ///< by direction

  std::int64_t columns() const { return gates * hidden; }
  /// Gates of the first recurrent product: a GRU's proposals are a product of their own.
  std::int64_t first_gates() const { return kind == RecurrentKind::gru ? 2 : gates; }
  std::int64_t first_of(std::int64_t block) const { return block * batch / blocks; }
  Interval part(std::int64_t index) const { return {index * part_size, std::min(hidden, (index + 1) * part_size)}; }
  /// In which a step is made: a GRU's proposals may need what all parts have reset.
  std::int64_t halves() const { return kind == RecurrentKind::gru && !linear ? 2 : 1; }
  /// The first multiplies the inputs.
  std::int64_t turns() const { return 1 + steps * halves(); }
  std::int64_t packed_w_floats() const;  ///< of one part
  std::int64_t packed_r_floats() const;
};

/// Where things lie that units work with, in floats: what a unit has of its own, and what the parts of a direction
/// share, states of two steps in turn and what a GRU has reset.
struct RecurrentRoom {
  std::int64_t sums, other, cell, bias, peepholes, lengths, order, w, r, terms, own;
  std::int64_t state, reset, shared;
};
RecurrentRoom room_of(const RecurrentForm& form);

/// [directions][gates][hidden][depth] packed part by part, each in `packed_floats`: the rows of its first gates, then
/// those of the others apart.
WeightMemory pack_gates(const Tensor& weight, const RecurrentForm& form, std::int64_t first_gates,
                        std::int64_t packed_floats, WeightRoom& room);

/// Nothing where the node's tensors are not those of its attributes.
std::optional<RecurrentForm> recurrent_form(const Candidate& node);

}  // namespace colonnade
