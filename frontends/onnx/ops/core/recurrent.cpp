// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/ops/core/shared.hpp"
#include "graph/parameters.hpp"

namespace colonnade::onnx_import {
namespace {

Direction direction_of(const Lowering& low) {
  const std::string text = low.string_or("direction", "forward");
  // the first GRU spells its default so
  if (text == "forward" || text == "foward") return Direction::forward;
  if (text == "reverse") return Direction::reverse;
  if (text == "bidirectional") return Direction::bidirectional;
  low.invalid("attribute 'direction': '{}' does not exist", printable(text));
}

/// From r [directions, gates * hidden, hidden] and the attribute, which must agree.
std::int64_t hidden_size_of(const Lowering& low, ValueId r) {
  const std::int64_t from_weight = low.dim(r, 2);
  const std::int64_t size = low.int_or("hidden_size", from_weight);
  if (size < 1 || (from_weight >= 0 && from_weight != size)) {
    low.invalid("attribute 'hidden_size': expected {} as the weights have, found {}", from_weight, size);
  }
  return size;
}

void check_activations(const Lowering& low, const Recurrent& op) {
  const std::size_t each = op.kind == RecurrentKind::lstm ? 3 : op.kind == RecurrentKind::gru ? 2 : 1;
  const std::size_t expected = each * (op.direction == Direction::bidirectional ? 2 : 1);
  if (!op.activations.empty() && op.activations.size() != expected) {
    low.invalid("attribute 'activations': expected {} names, found {}", expected, op.activations.size());
  }
  for (const std::string& name : op.activations)
    if (find_recurrent_activation(name) == nullptr)
      low.invalid("attribute 'activations': '{}' does not exist", printable(name));
}

Recurrent read_attributes(const Lowering& low, RecurrentKind kind, ValueId r) {
  Recurrent op{.kind = kind,
               .direction = direction_of(low),
               .hidden_size = hidden_size_of(low, r),
               .activations = find_strings(low.node(), "activations").value_or(std::vector<std::string>()),
               .activation_alpha = find_floats(low.node(), "activation_alpha").value_or(std::vector<float>()),
               .activation_beta = find_floats(low.node(), "activation_beta").value_or(std::vector<float>()),
               .clip = low.float_or("clip", 0),
               .input_forget = low.flag("input_forget"),
               .linear_before_reset = low.flag("linear_before_reset")};
  if (!(op.clip >= 0)) low.invalid("attribute 'clip': {} is negative", op.clip);
  check_activations(low, op);
  return op;
}

}  // namespace

/// Layout 1 keeps the batch outermost: x [B, S, I], states [B, D, H], y [B, S, D, H].
Values recur(Lowering& low, RecurrentKind kind, Values inputs) {
  Recurrent op = read_attributes(low, kind, inputs[2]);
  const std::int64_t layout = low.int_or("layout", 0);
  if (layout != 0 && layout != 1) low.invalid("attribute 'layout': expected 0 or 1, found {}", layout);
  const auto swap = [&](std::size_t index) {
    if (index < inputs.size() && inputs[index] != kAbsent) inputs[index] = transpose(low, inputs[index], {1, 0, 2});
  };
  if (layout == 1) swap(0), swap(5);
  if (layout == 1 && kind == RecurrentKind::lstm) swap(6);
  Values outputs = low.emit_all(std::move(op), std::move(inputs), kind == RecurrentKind::lstm ? 3 : 2);
  if (layout == 0) return outputs;
  outputs[0] = transpose(low, outputs[0], {2, 0, 1, 3});
  for (std::size_t i = 1; i < outputs.size(); ++i) outputs[i] = transpose(low, outputs[i], {1, 0, 2});
  return outputs;
}

namespace {

template <RecurrentKind kind>
Values lower_recurrent(Lowering& low) {
  for (std::size_t i = 0; i < 3; ++i) low.input(i);
  return recur(low, kind, low.inputs());
}

constexpr Row kRecurrentRows[] = {
    {kOnnxDomain, "LSTM", 1, kNoLimit, 3, 8, 3, lower_recurrent<RecurrentKind::lstm>},
    {kOnnxDomain, "GRU", 1, kNoLimit, 3, 6, 2, lower_recurrent<RecurrentKind::gru>},
    {kOnnxDomain, "RNN", 1, kNoLimit, 3, 6, 2, lower_recurrent<RecurrentKind::rnn>},
};

}  // namespace

std::span<const Row> recurrent_rows() { return kRecurrentRows; }

}  // namespace colonnade::onnx_import
