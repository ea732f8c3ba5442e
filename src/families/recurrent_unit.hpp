// SPDX-License-Identifier: Apache-2.0
// What threads share of a recurrent network: a block of its sequences, or a part of their hidden state.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "families/lower.hpp"
#include "families/narrow_adder.hpp"
#include "families/recurrent_form.hpp"
#include "families/rows.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/move/move.hpp"
#include "kernels/recurrent/recurrent.hpp"

namespace colonnade {

/// What a unit works on; no weights where they are computed.
struct RecurrentPlace {
  std::int64_t direction;
  Interval sequences;  ///< of the batch
  Interval part;       ///< of the hidden state
  const float* w = nullptr;
  const float* r = nullptr;
};

/// A node, ready to run: its kernels, its values, its packed weights.
struct RecurrentCells {
  explicit RecurrentCells(const LowerContext& context);

  struct Product {
    const float* a;
    std::int64_t rows, depth, a_stride;
    const float* weights;
    std::int64_t columns;
    const float* bias;
    float* out;
    std::int64_t out_stride;
    bool accumulate;
    bool partial_sums;
  };
  void multiply(const Product& p) const;
  /// Rows [columns][depth] of computed weights.
  void pack(const float* rows, std::int64_t columns, std::int64_t depth, float* to) const;

  const kernels::recurrent::Kernel& kernel;
  const kernels::gemm::Kernel& product;
  const kernels::move::Kernel& move;
  RecurrentForm form;
  RecurrentRoom room;
  std::string node;
  ValueOf<float> in, computed_w, computed_r, bias, state, cell, peepholes;
  ValueOf<std::byte> lengths;
  std::array<ValueOf<float>, 3> outputs;
  std::vector<RecurrentPlace> places;  ///< by unit
  /// Weights that stay narrow.
  struct Narrow {
    NarrowAdder product;
    const std::byte* panels;
    std::size_t panel_bytes;
  };
  std::optional<Narrow> narrow_w, narrow_r;

 private:
  void pack_constants(const LowerContext& context);
};

/// A block of sequences in one direction, the longest first, or a part of their hidden state.
class RecurrentUnit {
 public:
  RecurrentUnit(const RecurrentCells& cells, const StepContext& step, std::int64_t unit);

  /// The first turn of all multiplies the inputs, then each is a step or half of one.
  void run(std::int64_t turn);

 private:
  void begin();

  void end() const;

  void pack_weights() const;
  /// Of all sequences, before a step of this number.
  float* state(std::int64_t step) const { return state_ + step % 2 * count_ * form_.hidden; }
  /// Where the recurrent weights of a GRU's proposals start.
  std::int64_t second_part() const;

  /// Both biases belong to the same sums, unless the reset gate scales the recurrent ones: those lie behind.
  void set_bias();

  void set_lengths();

  void multiply_inputs() const;

  /// Index of a sequence's state among those of all directions.
  std::int64_t index_of(std::int64_t b) const { return d_ * form_.batch + place_.sequences.begin + order_[b]; }

  /// This part of what sequences begin with, into rows of `stride`.
  void load(ValueOf<float> input, float* to, std::int64_t stride, std::int64_t at) const;

  float* output(std::int64_t t, std::int64_t b) const;
  void write_step(std::int64_t s, std::int64_t active) const;
  void clear_rest() const;

  void advance(std::int64_t s, std::int64_t half) const;

  void add_state(std::int64_t s, float* sums, std::int64_t active) const;
  void add_reset(float* sums, std::int64_t active) const;
  /// Rows, `stride` floats apart, and some gates of them in sums, `sums_stride` apart.
  struct NarrowRows {
    const float* x;
    std::int64_t stride, count;
    Interval gates;
    float* sums;
    std::int64_t sums_stride;
  };
  void add_narrow(const RecurrentCells::Narrow& weights, const NarrowRows& rows) const;
  void add_inputs(const float* x, std::int64_t stride, std::int64_t rows, float* sums, std::int64_t sums_stride) const;

  /// Null where the functions are those that cells have by default.
  const kernels::recurrent::Cell* changed_cell() const {
    return form_.plain ? nullptr : &form_.cells[static_cast<std::size_t>(d_)];
  }

  /// The gates of a sequence, and its next state.
  void finish(std::int64_t s, float* sums, std::int64_t b) const;

  const RecurrentCells& cells_;
  const RecurrentForm& form_;
  const StepContext& step_;
  const RecurrentPlace& place_;
  std::int64_t d_, count_;
  Interval part_;
  std::int64_t columns_;  ///< of its sums, all gates
  bool backwards_;
  bool at_once_;  ///< one product made the sums of all sequences, in the order of time
  float *state_, *reset_, *sums_, *other_, *cell_, *bias_, *peepholes_, *packed_w_, *packed_r_, *terms_;
  std::int32_t *lengths_, *order_;
  const float *w_, *r_;
};

}  // namespace colonnade
