// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN: one product with the inputs of all steps, then a product with the state and the gates a step.
#include "kernels/recurrent/recurrent.hpp"

#include <array>
#include <cstring>
#include <numeric>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/recurrent_form.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/move/move.hpp"

namespace colonnade {
namespace {

constexpr std::size_t kBias = 3, kLengths = 4, kState = 5, kCell = 6, kPeepholes = 7;

void copy(const float* from, std::int64_t count, float* to) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

/// [directions][columns][depth] packed direction by direction, from the `first`-th column on apart.
WeightMemory pack_gates(const Tensor& weight, std::int64_t first, std::int64_t packed_floats, WeightRoom& room) {
  const Shape& shape = weight.shape();
  const auto columns = static_cast<std::size_t>(shape[1]), depth = static_cast<std::size_t>(shape[2]);
  const auto head = static_cast<std::size_t>(first);
  WeightMemory packed = room.take(static_cast<std::size_t>(shape[0] * packed_floats) * sizeof(float));
  for (std::int64_t d = 0; d < shape[0]; ++d) {
    const float* from = weight.values<float>().data() + static_cast<std::size_t>(d) * columns * depth;
    float* to = packed.floats() + d * packed_floats;
    kernels::gemm::pack(from, 1, shape[2], depth, head, to);
    if (head < columns)
      kernels::gemm::pack(from + head * depth, 1, shape[2], depth, columns - head,
                          to + kernels::gemm::packed_floats(kernels::Encoding::f32, depth, head));
  }
  return packed;
}

class RecurrentOp final : public RowOp {
 public:
  explicit RecurrentOp(const LowerContext& context)
      : kernel_(kernels::recurrent::select(context.features)),
        product_(kernels::gemm::select(context.features, kernels::Encoding::f32)),
        move_(kernels::move::select(context.features)),
        form_(context.form<RecurrentForm>()),
        room_(room_of(form_)),
        node_(context.node.name),
        in_(context.in<float>(0)),
        computed_w_(context.in<float>(1)),
        computed_r_(context.in<float>(2)),
        bias_(context.in<float>(kBias)),
        state_(context.in<float>(kState)),
        cell_(context.in<float>(kCell)),
        peepholes_(context.in<float>(kPeepholes)),
        lengths_(context.in<std::byte>(kLengths)) {
    for (std::size_t i = 0; i < outputs_.size() && i < context.node.outputs.size(); ++i)
      outputs_[i] = context.out<float>(i);
    if (form_.packs) return;
    w_ = context.packed(1, "gates", [&](const Tensor& weight, WeightRoom& room) {
      return pack_gates(weight, form_.columns(), form_.packed_w_floats(), room);
    });
    r_ = context.packed(2, form_.kind == RecurrentKind::gru ? "gates, then proposals" : "gates",
                        [&](const Tensor& weight, WeightRoom& room) {
                          return pack_gates(weight, form_.first_columns(), form_.packed_r_floats(), room);
                        });
  }

  void run(const StepContext& step) const override {
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit) Unit(*this, step, unit).run();
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
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
  void multiply(const Product& p) const {
    kernels::gemm::ConvArgs args;
    args.in_rows = &p.a;
    args.out_rows = const_cast<float* const*>(&p.out);
    args.width_in = args.width_out = static_cast<std::size_t>(p.rows);
    args.channels_in = static_cast<std::size_t>(p.depth);
    args.channels_out = static_cast<std::size_t>(p.columns);
    args.in_pixel_stride = p.a_stride;
    args.out_pixel_stride = p.out_stride;
    args.weights = p.weights;
    args.panel_stride = args.channels_in * kernels::gemm::kPanel;
    args.bias = p.bias;
    args.accumulate = p.accumulate;
    args.partial_sums = p.partial_sums;
    product_.run(args);
  }

  /// Rows [columns][depth] of computed weights.
  void pack(const float* rows, std::int64_t columns, std::int64_t depth, float* to) const {
    constexpr auto kPanel = static_cast<std::int64_t>(kernels::gemm::kPanel);
    const auto pixels = static_cast<std::size_t>(depth);
    for (std::int64_t first = 0; first < columns; first += kPanel, to += depth * kPanel) {
      const std::int64_t count = std::min(kPanel, columns - first);
      if (count < kPanel) std::memset(to, 0, pixels * sizeof(float) * kernels::gemm::kPanel);
      move_.planes_to_pixels({pixels, static_cast<std::size_t>(count), rows + first * depth, depth, to, kPanel});
    }
  }

  /// A block of sequences in one direction, the longest first.
  class Unit {
   public:
    Unit(const RecurrentOp& op, const StepContext& step, std::int64_t unit)
        : op_(op),
          form_(op.form_),
          step_(step),
          d_(unit / form_.blocks),
          first_(form_.first_of(unit % form_.blocks)),
          count_(form_.first_of(unit % form_.blocks + 1) - first_),
          backwards_(form_.backwards || d_ == 1),
          at_once_(!op.lengths_ && form_.blocks == 1),
          sums_(step.scratch + op.room_.sums),
          other_(step.scratch + op.room_.other),
          state_(step.scratch + op.room_.state),
          cell_(step.scratch + op.room_.cell),
          bias_(step.scratch + op.room_.bias),
          lengths_(reinterpret_cast<std::int32_t*>(step.scratch + op.room_.lengths)),
          order_(reinterpret_cast<std::int32_t*>(step.scratch + op.room_.order)) {}

    void run() {
      set_weights();
      set_bias();
      set_lengths();
      multiply_inputs();
      load(op_.state_, state_);
      if (form_.kind == RecurrentKind::lstm) load(op_.cell_, cell_);
      std::int64_t active = count_;
      for (std::int64_t s = 0; s < form_.steps; ++s) {
        while (active > 0 && lengths_[active - 1] <= s) --active;
        if (active == 0) break;
        const std::int64_t slot = at_once_ && backwards_ ? form_.steps - 1 - s : s;
        advance(sums_ + slot * count_ * form_.columns(), active);
        if (op_.outputs_[0]) write_step(s, active);
      }
      if (op_.outputs_[0] && op_.lengths_) clear_rest();
      if (op_.outputs_[1]) write_last(op_.outputs_[1], state_);
      if (op_.outputs_[2]) write_last(op_.outputs_[2], cell_);
    }

   private:
    void set_weights() {
      if (!form_.packs) {
        w_ = op_.w_ + d_ * form_.packed_w_floats();
        r_ = op_.r_ + d_ * form_.packed_r_floats();
      } else {
        float* w = step_.scratch + op_.room_.w;
        float* r = step_.scratch + op_.room_.r;
        const std::int64_t hidden = form_.hidden, columns = form_.columns(), head = form_.first_columns();
        const float* rows = whole(step_, op_.computed_r_) + d_ * columns * hidden;
        op_.pack(whole(step_, op_.computed_w_) + d_ * columns * form_.depth, columns, form_.depth, w);
        op_.pack(rows, head, hidden, r);
        op_.pack(rows + head * hidden, columns - head, hidden, r + second_part());
        w_ = w;
        r_ = r;
      }
    }
    /// Where the recurrent weights of a GRU's proposals start.
    std::int64_t second_part() const {
      return static_cast<std::int64_t>(kernels::gemm::packed_floats(kernels::Encoding::f32,
                                                                    static_cast<std::size_t>(form_.hidden),
                                                                    static_cast<std::size_t>(form_.first_columns())));
    }

    /// Both biases belong to the same sums, unless the reset gate scales the recurrent ones: those lie behind.
    void set_bias() {
      const std::int64_t columns = form_.columns();
      std::memset(bias_, 0, static_cast<std::size_t>(columns + form_.hidden) * sizeof(float));
      if (!op_.bias_) return;
      const float* of_x = whole(step_, op_.bias_) + d_ * 2 * columns;
      const float* of_h = of_x + columns;
      const std::int64_t joined = form_.linear ? form_.first_columns() : columns;
      for (std::int64_t i = 0; i < joined; ++i) bias_[i] = of_x[i] + of_h[i];
      for (std::int64_t i = joined; i < columns; ++i) {
        bias_[i] = of_x[i];
        bias_[i + form_.hidden] = of_h[i];
      }
    }

    void set_lengths() {
      std::iota(order_, order_ + count_, 0);
      std::fill(lengths_, lengths_ + count_, static_cast<std::int32_t>(form_.steps));
      if (!op_.lengths_) return;
      const auto* given = reinterpret_cast<const std::int32_t*>(whole(step_, op_.lengths_)) + first_;
      for (std::int64_t b = 0; b < count_; ++b)
        if (given[b] < 0 || given[b] > form_.steps)
          fail(ErrorCode::invalid_input, "node '{}' (Recurrent): sequence {} is {} long, the input has {} steps",
               op_.node_, first_ + b, given[b], form_.steps);
      std::sort(order_, order_ + count_,
                [&](std::int32_t a, std::int32_t b) { return given[a] != given[b] ? given[a] > given[b] : a < b; });
      for (std::int64_t b = 0; b < count_; ++b) lengths_[b] = given[order_[b]];
    }

    void multiply_inputs() const {
      const float* x = whole(step_, op_.in_);
      const std::int64_t depth = form_.depth, columns = form_.columns(), apart = form_.batch * depth;
      const bool of_step = form_.single && form_.steps == 1;
      if (at_once_)
        return op_.multiply(
            {x, form_.steps * form_.batch, depth, depth, w_, columns, bias_, sums_, columns, false, of_step});
      for (std::int64_t b = 0; b < count_; ++b) {
        if (lengths_[b] == 0) continue;
        const float* sequence = x + (first_ + order_[b]) * depth + (backwards_ ? lengths_[b] - 1 : 0) * apart;
        op_.multiply({sequence, lengths_[b], depth, backwards_ ? -apart : apart, w_, columns, bias_,
                      sums_ + b * columns, count_ * columns, false, of_step});
      }
    }

    /// Index of a sequence's state among those of all directions.
    std::int64_t place(std::int64_t b) const { return d_ * form_.batch + first_ + order_[b]; }

    void load(ValueOf<float> input, float* to) const {
      for (std::int64_t b = 0; b < count_; ++b, to += form_.hidden) {
        if (input)
          copy(whole(step_, input) + place(b) * form_.hidden, form_.hidden, to);
        else
          std::memset(to, 0, static_cast<std::size_t>(form_.hidden) * sizeof(float));
      }
    }
    void write_last(ValueOf<float> output, const float* from) const {
      for (std::int64_t b = 0; b < count_; ++b, from += form_.hidden)
        copy(from, form_.hidden, whole(step_, output) + place(b) * form_.hidden);
    }

    float* output(std::int64_t t, std::int64_t b) const {
      return whole(step_, op_.outputs_[0]) + (t * form_.directions * form_.batch + place(b)) * form_.hidden;
    }
    void write_step(std::int64_t s, std::int64_t active) const {
      if (!op_.lengths_) return copy(state_, count_ * form_.hidden, output(backwards_ ? form_.steps - 1 - s : s, 0));
      for (std::int64_t b = 0; b < active; ++b)
        copy(state_ + b * form_.hidden, form_.hidden, output(backwards_ ? lengths_[b] - 1 - s : s, b));
    }
    void clear_rest() const {
      for (std::int64_t b = 0; b < count_; ++b)
        for (std::int64_t t = lengths_[b]; t < form_.steps; ++t)
          std::memset(output(t, b), 0, static_cast<std::size_t>(form_.hidden) * sizeof(float));
    }

    void advance(float* sums, std::int64_t active) const {
      const std::int64_t hidden = form_.hidden, columns = form_.columns(), head = form_.first_columns();
      const auto units = static_cast<std::size_t>(hidden);
      const bool gru = form_.kind == RecurrentKind::gru, single = form_.single;
      const auto* cell = &form_.cells[static_cast<std::size_t>(d_)];
      const auto* form = form_.plain ? nullptr : cell;
      op_.multiply({state_, active, hidden, hidden, r_, head, nullptr, sums, columns, true, single});
      if (form_.linear) {
        op_.multiply({state_, active, hidden, hidden, r_ + second_part(), hidden, bias_ + columns, other_, hidden,
                      false, single});
      } else if (gru) {
        for (std::int64_t b = 0; b < active; ++b)
          op_.kernel_.reset({units, sums + b * columns + hidden, state_ + b * hidden, other_ + b * hidden, form});
        op_.multiply(
            {other_, active, hidden, hidden, r_ + second_part(), hidden, nullptr, sums + head, columns, true, single});
      }
      const float* peepholes = op_.peepholes_ ? whole(step_, op_.peepholes_) + d_ * 3 * hidden : nullptr;
      for (std::int64_t b = 0; b < active; ++b) {
        float* of_gates = sums + b * columns;
        float* state = state_ + b * hidden;
        switch (form_.kind) {
          case RecurrentKind::lstm:
            op_.kernel_.lstm({units, of_gates, cell_ + b * hidden, state, peepholes, form});
            break;
          case RecurrentKind::gru:
            op_.kernel_.gru({units, of_gates, form_.linear ? other_ + b * hidden : nullptr, state, form});
            break;
          case RecurrentKind::rnn: op_.kernel_.rnn({units, of_gates, state, cell}); break;
        }
      }
    }

    const RecurrentOp& op_;
    const RecurrentForm& form_;
    const StepContext& step_;
    std::int64_t d_, first_, count_;
    bool backwards_;
    bool at_once_;  ///< one product made the sums of all sequences, in the order of time
    float *sums_, *other_, *state_, *cell_, *bias_;
    std::int32_t *lengths_, *order_;
    const float *w_ = nullptr, *r_ = nullptr;
  };

  const kernels::recurrent::Kernel& kernel_;
  const kernels::gemm::Kernel& product_;
  const kernels::move::Kernel& move_;
  RecurrentForm form_;
  RecurrentRoom room_;
  std::string node_;
  ValueOf<float> in_, computed_w_, computed_r_, bias_, state_, cell_, peepholes_;
  ValueOf<std::byte> lengths_;
  std::array<ValueOf<float>, 3> outputs_;
  const float* w_ = nullptr;
  const float* r_ = nullptr;
};

Match match(const Candidate& node) {
  if (!std::holds_alternative<Recurrent>(node.node.op)) return refuse();
  const auto form = recurrent_form(node);
  return form ? take(Form::of(*form)) : refuse("no kernel for this cell");
}

std::int64_t units(const Chosen& node) {
  const auto& form = node.form<RecurrentForm>();
  return form.directions * form.blocks;
}

/// The inputs of all steps at once; then for each step and block the recurrent weights again, as fast as they come or
/// as they are multiplied, and functions of what they give.
Effort effort(const Chosen& node, const Rates& rates) {
  constexpr double kGiga = 1e9;
  const auto& form = node.form<RecurrentForm>();
  const auto hidden = static_cast<double>(form.hidden), depth = static_cast<double>(form.depth);
  const auto sums = static_cast<double>(form.directions * form.steps * form.batch * form.columns());
  const auto read = static_cast<double>(form.directions * form.steps * form.blocks * form.columns()) * hidden;
  return {rates.seconds(Work::contraction, 2 * sums * depth, depth) +
          std::max(sizeof(float) * read / (kGiga * rates.l2_gbs),
                   rates.seconds(Work::contraction, 2 * sums * hidden, hidden)) +
          rates.seconds(Work::function, sums, 1)};
}

std::int64_t workspace_bytes(const Chosen& node) {
  return room_of(node.form<RecurrentForm>()).end * static_cast<std::int64_t>(sizeof(float));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<RecurrentOp>(context); }

}  // namespace

constinit const Family families::recurrent = whole_family({.name = "recurrent",
                                                           .types = kFloats,
                                                           .match = match,
                                                           .units = units,
                                                           .effort = effort,
                                                           .weights_bytes = no_bytes,
                                                           .workspace_bytes = workspace_bytes,
                                                           .lower = lower});

}  // namespace colonnade
