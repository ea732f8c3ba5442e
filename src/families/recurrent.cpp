// SPDX-License-Identifier: Apache-2.0
// LSTM and GRU: one product with the inputs of all steps, then a product with the state and the gates a step.
#include "kernels/recurrent/recurrent.hpp"

#include <array>
#include <cstring>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/gemm/gemm.hpp"

namespace colonnade {
namespace {

/// Sizes of a Recurrent that has a kernel: the default activations, constant weights, full sequences.
struct RecurrentForm {
  std::int64_t directions = 1, gates = 1, steps = 1, batch = 1, depth = 1, hidden = 1;
  /// Workspace of a direction: sums of all steps, recurrent sums, state and cell.
  std::int64_t scratch_floats() const { return batch * ((steps + 1) * gates * hidden + 2 * hidden); }
};

/// [directions][gates * hidden][depth] packed direction by direction; product rows are `depth`.
AlignedBuffer pack_gates(const Tensor& weight) {
  const Shape& shape = weight.shape();
  const auto n = static_cast<std::size_t>(shape[1]), k = static_cast<std::size_t>(shape[2]);
  const std::size_t floats = kernels::gemm::packed_floats(kernels::Encoding::f32, k, n);
  AlignedBuffer packed(floats * static_cast<std::size_t>(shape[0]) * sizeof(float));
  for (std::size_t d = 0; d < static_cast<std::size_t>(shape[0]); ++d)
    kernels::gemm::pack(weight.values<float>().data() + d * n * k, 1, static_cast<std::ptrdiff_t>(k), k, n,
                        packed.floats() + d * floats);
  return packed;
}

/// Units are directions.
class RecurrentOp final : public RowOp {
 public:
  RecurrentOp(const LowerContext& context, const Recurrent& op)
      : kernel_(kernels::recurrent::select(context.features)),
        product_(kernels::gemm::select(context.features, kernels::Encoding::f32)),
        op_(op),
        in_(context.in<float>(0)),
        state_(context.in<float>(5)),
        cell_(context.in<float>(6)),
        form_(context.form<RecurrentForm>()) {
    for (std::size_t i = 0; i < outputs_.size() && i < context.node.outputs.size(); ++i)
      outputs_[i] = context.out<float>(i);
    w_ = context.packed(1, "gates", pack_gates);
    r_ = context.packed(2, "gates", pack_gates);
    x_bias_.assign(static_cast<std::size_t>(form_.directions * columns()), 0);
    h_bias_ = x_bias_;
    if (context.has_input(3)) split_bias(context.floats(3));
  }

  void run(const StepContext& step) const override {
    for (std::int64_t d = step.row_begin; d < step.row_end; ++d) run_direction(step, d, step.scratch);
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  std::int64_t columns() const { return form_.gates * form_.hidden; }
  bool separate_recurrent_sums() const { return op_.kind == RecurrentKind::gru && op_.linear_before_reset; }

  /// Both biases belong to the same sums, unless the reset gate scales the recurrent ones.
  void split_bias(const float* bias) {
    const bool separate = separate_recurrent_sums();
    for (std::int64_t d = 0; d < form_.directions; ++d)
      for (std::int64_t i = 0; i < columns(); ++i) {
        const float* of_x = bias + d * 2 * columns() + i;
        const auto at = static_cast<std::size_t>(d * columns() + i);
        x_bias_[at] = separate ? of_x[0] : of_x[0] + of_x[columns()];
        h_bias_[at] = separate ? of_x[columns()] : 0;
      }
  }

  struct Product {
    const float* a;
    std::int64_t rows, depth, a_stride;
    const float* weights;  ///< the first panel of the columns
    std::int64_t columns;
    const float* bias;
    float* out;
    bool accumulate;
  };
  void multiply(const Product& p) const {
    kernels::gemm::ConvArgs args;
    args.in_rows = &p.a;
    args.out_rows = const_cast<float* const*>(&p.out);
    args.width_in = args.width_out = static_cast<std::size_t>(p.rows);
    args.channels_in = static_cast<std::size_t>(p.depth);
    args.channels_out = static_cast<std::size_t>(p.columns);
    args.in_pixel_stride = p.a_stride;
    args.out_pixel_stride = columns();
    args.weights = p.weights;
    args.panel_stride = args.channels_in * kernels::gemm::kPanel;
    args.bias = p.bias;
    args.accumulate = p.accumulate;
    product_.run(args);
  }

  void load_state(const StepContext& step, ValueOf<float> input, std::int64_t direction, float* state) const {
    const std::int64_t count = form_.batch * form_.hidden;
    if (input)
      copy(whole(step, input) + direction * count, count, state);
    else
      std::memset(state, 0, static_cast<std::size_t>(count) * sizeof(float));
  }
  static void copy(const float* from, std::int64_t count, float* to) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
  }

  void run_direction(const StepContext& step, std::int64_t d, float* scratch) const {
    const std::int64_t state_size = form_.batch * form_.hidden, sums_size = form_.batch * columns();
    float* sums = scratch;
    float* other = sums + form_.steps * sums_size;
    float* state = other + sums_size;
    float* cell = state + state_size;
    const float* recurrent =
        r_ + static_cast<std::size_t>(d) * kernels::gemm::packed_floats(kernels::Encoding::f32,
                                                                        static_cast<std::size_t>(form_.hidden),
                                                                        static_cast<std::size_t>(columns()));
    const float* weights =
        w_ + static_cast<std::size_t>(d) * kernels::gemm::packed_floats(kernels::Encoding::f32,
                                                                        static_cast<std::size_t>(form_.depth),
                                                                        static_cast<std::size_t>(columns()));
    multiply({whole(step, in_), form_.steps * form_.batch, form_.depth, form_.depth, weights, columns(),
              x_bias_.data() + d * columns(), sums, false});
    load_state(step, state_, d, state);
    if (op_.kind == RecurrentKind::lstm) load_state(step, cell_, d, cell);
    const bool backwards = op_.direction == Direction::reverse || d == 1;
    for (std::int64_t s = 0; s < form_.steps; ++s) {
      const std::int64_t t = backwards ? form_.steps - 1 - s : s;
      advance(d, recurrent, sums + t * sums_size, other, state, cell);
      if (outputs_[0]) copy(state, state_size, whole(step, outputs_[0]) + (t * form_.directions + d) * state_size);
    }
    if (outputs_[1]) copy(state, state_size, whole(step, outputs_[1]) + d * state_size);
    if (outputs_[2]) copy(cell, state_size, whole(step, outputs_[2]) + d * state_size);
  }

  void advance(std::int64_t d, const float* recurrent, float* sums, float* other, float* state, float* cell) const {
    const std::int64_t hidden = form_.hidden;
    const auto units = static_cast<std::size_t>(hidden);
    const bool gru = op_.kind == RecurrentKind::gru;
    if (separate_recurrent_sums()) {
      multiply(
          {state, form_.batch, hidden, hidden, recurrent, columns(), h_bias_.data() + d * columns(), other, false});
      for (std::int64_t b = 0; b < form_.batch; ++b) {
        float* at = sums + b * columns();
        const float* from_h = other + b * columns();
        for (std::int64_t i = 0; i < 2 * hidden; ++i) at[i] += from_h[i];
        kernel_.gru({units, at, from_h + 2 * hidden, state + b * hidden});
      }
      return;
    }
    multiply({state, form_.batch, hidden, hidden, recurrent, gru ? 2 * hidden : columns(), nullptr, sums, true});
    if (gru) {
      for (std::int64_t b = 0; b < form_.batch; ++b)
        kernel_.reset({units, sums + b * columns() + hidden, state + b * hidden, other + b * hidden});
      const auto panels = 2 * units / kernels::gemm::kPanel;
      multiply({other, form_.batch, hidden, hidden, recurrent + panels * kernels::gemm::kPanel * units, hidden, nullptr,
                sums + 2 * hidden, true});
    }
    for (std::int64_t b = 0; b < form_.batch; ++b) {
      if (gru)
        kernel_.gru({units, sums + b * columns(), nullptr, state + b * hidden});
      else
        kernel_.lstm({units, sums + b * columns(), cell + b * hidden, state + b * hidden});
    }
  }

  const kernels::recurrent::Kernel& kernel_;
  const kernels::gemm::Kernel& product_;
  Recurrent op_;
  ValueOf<float> in_, state_, cell_;
  std::array<ValueOf<float>, 3> outputs_;
  RecurrentForm form_;
  const float* w_ = nullptr;
  const float* r_ = nullptr;
  std::vector<float> x_bias_, h_bias_;
};

/// Sigmoid and Tanh where ONNX puts them when nothing is said.
bool has_default_activations(const Recurrent& op) {
  const std::size_t period = op.kind == RecurrentKind::lstm ? 3 : 2;
  for (std::size_t i = 0; i < op.activations.size(); ++i)
    if (op.activations[i] != (i % period == 0 ? "Sigmoid" : "Tanh")) return false;
  return true;
}

std::optional<RecurrentForm> form_of(const Candidate& candidate) {
  const auto& [graph, node] = static_cast<const Subject&>(candidate);
  const auto& op = std::get<Recurrent>(node.op);
  const auto given = [&](std::size_t index) { return node.input(index) != kAbsent; };
  const auto constant = [&](std::size_t index) { return !given(index) || graph.value(node.inputs[index]).constant; };
  if (op.kind == RecurrentKind::rnn || !has_default_activations(op) || op.clip != 0 || op.input_forget)
    return std::nullopt;
  if (!given(1) || !given(2) || !constant(1) || !constant(2) || !constant(3) || given(4) || given(7))
    return std::nullopt;
  const bool gru = op.kind == RecurrentKind::gru;
  if (gru && !op.linear_before_reset && op.hidden_size % 8 != 0)
    return std::nullopt;  // its products end within a panel
  const Shape& x = graph.value(node.inputs[0]).type.static_shape();
  const Shape& w = graph.value(node.inputs[1]).type.static_shape();
  const Shape& r = graph.value(node.inputs[2]).type.static_shape();
  const RecurrentForm form{
      op.direction == Direction::bidirectional ? 2 : 1, gru ? 3 : 4, x[0], x[1], x[2], op.hidden_size};
  const std::int64_t columns = form.gates * form.hidden;
  if (w != Shape{form.directions, columns, form.depth} || r != Shape{form.directions, columns, form.hidden})
    return std::nullopt;
  const auto holds = [&](std::size_t index, std::int64_t count) {
    return !given(index) || element_count(graph.value(node.inputs[index]).type.static_shape()) == count;
  };
  const std::int64_t state = form.directions * form.batch * form.hidden;
  if (form.batch * form.steps * form.depth * form.hidden == 0) return std::nullopt;
  if (!holds(3, form.directions * 2 * columns) || !holds(5, state) || !holds(6, state)) return std::nullopt;
  return form;
}

Match match(const Candidate& node) {
  if (!std::holds_alternative<Recurrent>(node.node.op)) return refuse();
  const auto form = form_of(node);
  return form ? take(Form::of(*form)) : refuse("no kernel for this cell");
}

std::int64_t directions(const Chosen& node) { return node.form<RecurrentForm>().directions; }

/// The inputs of all steps at once, then for each step the recurrent weights again and functions of what they give.
Effort effort(const Chosen& node, const Rates& rates) {
  constexpr double kGiga = 1e9;
  const auto& form = node.form<RecurrentForm>();
  const auto sums = static_cast<double>(form.directions * form.steps * form.batch * form.gates * form.hidden);
  const auto read = static_cast<double>(form.directions * form.steps * form.gates * form.hidden * form.hidden);
  const auto depth = static_cast<double>(form.depth);
  return {rates.seconds(Work::contraction, 2 * sums * depth, depth) + sizeof(float) * read / (kGiga * rates.l2_gbs) +
          rates.seconds(Work::function, sums, 1)};
}

std::int64_t workspace_bytes(const Chosen& node) {
  return node.form<RecurrentForm>().scratch_floats() * static_cast<std::int64_t>(sizeof(float));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<RecurrentOp>(context, std::get<Recurrent>(context.node.op));
}

}  // namespace

constinit const Family families::recurrent = {.name = "recurrent",
                                              .scope = Scope::whole,
                                              .border = Border::none,
                                              .types = kFloats,
                                              .match = match,
                                              .units = directions,
                                              .effort = effort,
                                              .weights_bytes = no_bytes,
                                              .workspace_bytes = workspace_bytes,
                                              .window = no_window,
                                              .chunks = no_chunks,
                                              .placements = no_placements,
                                              .tell = nothing_told,
                                              .lower = lower};

}  // namespace colonnade
