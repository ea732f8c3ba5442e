// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM, one sequence of one batch entry at a time, as ONNX's formulas read.
#include <cmath>

#include "graph/parameters.hpp"
#include "reference/elements.hpp"
#include "reference/families.hpp"

namespace colonnade::reference {
namespace {

using Vector = std::vector<double>;

struct Activation {
  std::string_view name;
  double alpha = 0, beta = 0;

  double operator()(double x) const {
    if (name == "Affine") return alpha * x + beta;
    if (name == "ScaledTanh") return alpha * std::tanh(beta * x);
    return unary_value({*find_function(name), static_cast<float>(alpha), static_cast<float>(beta)}, x);
  }
};

std::vector<std::string> activation_names(const Recurrent& op, std::size_t directions) {
  if (!op.activations.empty()) return op.activations;
  std::vector<std::string> names;
  for (std::size_t d = 0; d < directions; ++d) {
    if (op.kind == RecurrentKind::rnn) names.insert(names.end(), {"Tanh"});
    if (op.kind == RecurrentKind::gru) names.insert(names.end(), {"Sigmoid", "Tanh"});
    if (op.kind == RecurrentKind::lstm) names.insert(names.end(), {"Sigmoid", "Tanh", "Tanh"});
  }
  return names;
}

/// All activations in order; alphas and betas go in turn to those that take one.
std::vector<Activation> activations_of(const Recurrent& op, std::size_t directions, const Call& call) {
  std::vector<Activation> result;
  std::size_t alpha = 0, beta = 0;
  for (const std::string& name : activation_names(op, directions)) {
    const RecurrentActivation* found = find_recurrent_activation(name);
    if (found == nullptr) call.unsupported("activation '{}'", name);
    Activation activation{found->name, found->alpha, found->beta};
    if (found->takes_alpha && alpha < op.activation_alpha.size()) {
      activation.alpha = static_cast<double>(op.activation_alpha[alpha++]);
    }
    if (found->takes_beta && beta < op.activation_beta.size()) {
      activation.beta = static_cast<double>(op.activation_beta[beta++]);
    }
    result.push_back(activation);
  }
  return result;
}

/// result[r] += row r of the matrix . x
void add_product(std::span<const double> matrix, std::span<const double> x, std::span<double> result) {
  const double* row = matrix.data();
  for (double& sum : result) {
    for (const double value : x) sum += *row++ * value;
  }
}

struct State {
  Vector hidden, cell;
};

/// One direction's weights and step functions.
class Cell {
 public:
  Cell(const Recurrent& op, const Call& call, std::size_t direction, std::span<const Activation> activations)
      : op_(op),
        activations_(activations),
        hidden_(static_cast<std::size_t>(op.hidden_size)),
        gates_(op.kind == RecurrentKind::rnn ? 1 : (op.kind == RecurrentKind::gru ? 3 : 4)),
        inputs_(static_cast<std::size_t>(call.input(0).shape()[2])) {
    w_ = part(call, 1, direction, gates_ * hidden_ * inputs_);
    r_ = part(call, 2, direction, gates_ * hidden_ * hidden_);
    const Vector bias = part(call, 3, direction, 2 * gates_ * hidden_);
    w_bias_.assign(bias.begin(), bias.begin() + static_cast<std::ptrdiff_t>(gates_ * hidden_));
    r_bias_.assign(bias.begin() + static_cast<std::ptrdiff_t>(gates_ * hidden_), bias.end());
    if (op.kind == RecurrentKind::lstm) peepholes_ = part(call, 7, direction, 3 * hidden_);
  }

  void step(std::span<const double> x, State& state) const {
    Vector from_x = w_bias_, from_h = r_bias_;
    add_product(w_, x, from_x);
    if (op_.kind != RecurrentKind::gru) add_product(r_, state.hidden, from_h);
    switch (op_.kind) {
      case RecurrentKind::rnn: return step_rnn(from_x, from_h, state);
      case RecurrentKind::gru: return step_gru(from_x, from_h, state);
      case RecurrentKind::lstm: return step_lstm(from_x, from_h, state);
    }
  }

 private:
  static Vector part(const Call& call, std::size_t input, std::size_t direction, std::size_t count) {
    Vector values(count, 0);
    const Tensor* tensor = call.optional(input);
    if (tensor == nullptr) return values;
    if (tensor->size() < static_cast<std::int64_t>((direction + 1) * count)) {
      call.invalid("input {} has {} elements, expected {} a direction", input, tensor->size(), count);
    }
    load(*tensor, static_cast<std::int64_t>(direction * count), static_cast<std::int64_t>(count), values.data());
    return values;
  }

  double activate(std::size_t which, double x) const {
    const double limit = static_cast<double>(op_.clip);
    return activations_[which](limit > 0 ? std::clamp(x, -limit, limit) : x);
  }

  void step_rnn(const Vector& from_x, const Vector& from_h, State& state) const {
    for (std::size_t i = 0; i < hidden_; ++i) state.hidden[i] = activate(0, from_x[i] + from_h[i]);
  }

  // Gates in the order z, r, h.
  void step_gru(const Vector& from_x, Vector& from_h, State& state) const {
    const std::size_t square = hidden_ * hidden_;
    const std::span<const double> r(r_);
    add_product(r.first(2 * square), state.hidden, std::span(from_h).first(2 * hidden_));
    Vector reset(hidden_), candidate(from_h.begin() + static_cast<std::ptrdiff_t>(2 * hidden_), from_h.end());
    for (std::size_t i = 0; i < hidden_; ++i) reset[i] = activate(0, from_x[hidden_ + i] + from_h[hidden_ + i]);
    Vector gated = state.hidden;
    if (!op_.linear_before_reset) {
      for (std::size_t i = 0; i < hidden_; ++i) gated[i] *= reset[i];
    }
    add_product(r.subspan(2 * square), gated, candidate);
    for (std::size_t i = 0; i < hidden_; ++i) {
      const double update = activate(0, from_x[i] + from_h[i]);
      const double recurrent = op_.linear_before_reset ? reset[i] * candidate[i] : candidate[i];
      const double proposed = activate(1, from_x[2 * hidden_ + i] + recurrent);
      state.hidden[i] = (1 - update) * proposed + update * state.hidden[i];
    }
  }

  // Gates in the order i, o, f, c; peepholes i, o, f.
  void step_lstm(const Vector& from_x, const Vector& from_h, State& state) const {
    for (std::size_t i = 0; i < hidden_; ++i) {
      const auto sum = [&](std::size_t gate) { return from_x[gate * hidden_ + i] + from_h[gate * hidden_ + i]; };
      double& cell = state.cell[i];
      const double input = activate(0, sum(0) + peepholes_[i] * cell);
      const double forget = op_.input_forget ? 1 - input : activate(0, sum(2) + peepholes_[2 * hidden_ + i] * cell);
      cell = forget * cell + input * activate(1, sum(3));
      const double output = activate(0, sum(1) + peepholes_[hidden_ + i] * cell);
      state.hidden[i] = output * activate(2, cell);
    }
  }

  const Recurrent& op_;
  std::span<const Activation> activations_;
  std::size_t hidden_, gates_, inputs_;
  Vector w_, r_, w_bias_, r_bias_, peepholes_;
};

struct Extent {
  std::int64_t steps, batch, inputs, directions, hidden;
};

State initial_state(const Call& call, const Extent& e, std::int64_t direction, std::int64_t b) {
  State state{Vector(static_cast<std::size_t>(e.hidden), 0), Vector(static_cast<std::size_t>(e.hidden), 0)};
  const std::int64_t offset = (direction * e.batch + b) * e.hidden;
  if (call.optional(5) != nullptr) load(*call.optional(5), offset, e.hidden, state.hidden.data());
  if (call.optional(6) != nullptr) load(*call.optional(6), offset, e.hidden, state.cell.data());
  return state;
}

std::int64_t sequence_length(const Ints& lengths, std::int64_t b, const Extent& e, const Call& call) {
  const std::int64_t length = lengths.empty() ? e.steps : lengths[static_cast<std::size_t>(b)];
  if (length < 0 || length > e.steps)
    call.invalid("sequence {} is {} long, the input has {} steps", b, length, e.steps);
  return length;
}

void check_states(const Call& call, const Extent& e) {
  for (const std::size_t input : {std::size_t{5}, std::size_t{6}}) {
    const Tensor* tensor = call.optional(input);
    if (tensor != nullptr && tensor->size() != e.directions * e.batch * e.hidden) {
      call.invalid("input {} has {} elements, expected {}", input, tensor->size(), e.directions * e.batch * e.hidden);
    }
  }
  const Tensor* lengths = call.optional(4);
  if (lengths != nullptr && lengths->size() != e.batch)
    call.invalid("{} lengths for {} sequences", lengths->size(), e.batch);
}

}  // namespace

Tensors apply(const Recurrent& op, const Call& call) {
  const Tensor& x = call.input(0);
  const Extent e{x.shape()[0], x.shape()[1], x.shape()[2], op.direction == Direction::bidirectional ? 2 : 1,
                 op.hidden_size};
  check_states(call, e);
  const Ints lengths = call.ints(4);
  const std::vector<Activation> activations = activations_of(op, static_cast<std::size_t>(e.directions), call);
  const std::size_t per_direction = op.kind == RecurrentKind::rnn ? 1 : (op.kind == RecurrentKind::gru ? 2 : 3);
  if (activations.size() < per_direction * static_cast<std::size_t>(e.directions)) call.invalid("too few activations");

  Tensors outputs;
  outputs.emplace_back(x.dtype(), Shape{e.steps, e.directions, e.batch, e.hidden});
  for (int i = 0; i < (op.kind == RecurrentKind::lstm ? 2 : 1); ++i) {
    outputs.emplace_back(x.dtype(), Shape{e.directions, e.batch, e.hidden});
  }
  Vector element(static_cast<std::size_t>(e.inputs));
  for (std::int64_t d = 0; d < e.directions; ++d) {
    const auto index = static_cast<std::size_t>(d);
    const Cell direction(op, call, index, std::span(activations).subspan(index * per_direction, per_direction));
    const bool reverse = op.direction == Direction::reverse || d == 1;
    for (std::int64_t b = 0; b < e.batch; ++b) {
      State state = initial_state(call, e, d, b);
      const std::int64_t length = sequence_length(lengths, b, e, call);
      for (std::int64_t s = 0; s < length; ++s) {
        const std::int64_t t = reverse ? length - 1 - s : s;
        load(x, (t * e.batch + b) * e.inputs, e.inputs, element.data());
        direction.step(element, state);
        store(state.hidden.data(), e.hidden, outputs[0], ((t * e.directions + d) * e.batch + b) * e.hidden);
      }
      store(state.hidden.data(), e.hidden, outputs[1], (d * e.batch + b) * e.hidden);
      if (outputs.size() > 2) store(state.cell.data(), e.hidden, outputs[2], (d * e.batch + b) * e.hidden);
    }
  }
  return outputs;
}

}  // namespace colonnade::reference
