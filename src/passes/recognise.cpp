// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "passes/match.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kStepsOf16Bits = 65535;

void become(Editor& editor, int index, Unary op, ValueId input) {
  editor.set_op(index, op);
  editor.set_inputs(index, {input});
}

/// The bounds of a value clipped by relu, clip, or min and max with scalars.
struct Bounds {
  ValueId input = kAbsent;
  float low = -kInfinity, high = kInfinity;
};

std::optional<Bounds> bounds_of(const Editor& editor, const Node& node) {
  if (const auto* unary = std::get_if<Unary>(&node.op)) {
    if (unary->kind == UnaryKind::relu) return Bounds{node.inputs[0], 0, kInfinity};
    if (unary->kind == UnaryKind::clip) return Bounds{node.inputs[0], unary->a, unary->b};
  }
  if (node.outputs.size() != 1 || editor.value(node.outputs[0]).type.dtype != DType::f32) return std::nullopt;
  if (const auto max = match_scalar(editor, node.outputs[0], BinaryKind::max)) {
    return Bounds{max->value, static_cast<float>(max->scalar), kInfinity};
  }
  if (const auto min = match_scalar(editor, node.outputs[0], BinaryKind::min)) {
    return Bounds{min->value, -kInfinity, static_cast<float>(min->scalar)};
  }
  return std::nullopt;
}

/// Clips in a row become one; a clip from 0 up is relu.
bool merge_clips(Editor& editor, int index) {
  auto bounds = bounds_of(editor, editor.node(index));
  if (!bounds || std::isnan(bounds->low) || std::isnan(bounds->high)) return false;
  const Node node = editor.node(index);
  const int before = editor.producer(bounds->input);
  if (before >= 0 && editor.value(bounds->input).type.dtype == DType::f32) {
    const auto inner = bounds_of(editor, editor.node(before));
    if (inner && inner->low <= inner->high && bounds->low <= bounds->high && inner->low <= bounds->high &&
        bounds->low <= inner->high) {
      bounds = Bounds{inner->input, std::max(inner->low, bounds->low), std::min(inner->high, bounds->high)};
    }
  }
  const bool relu = bounds->low == 0 && bounds->high == kInfinity;
  const Unary wanted = relu ? Unary{UnaryKind::relu, 0, 0} : Unary{UnaryKind::clip, bounds->low, bounds->high};
  const auto* unary = std::get_if<Unary>(&node.op);
  if (unary != nullptr && *unary == wanted && bounds->input == node.inputs[0]) return false;
  if (unary != nullptr && unary->kind == wanted.kind && relu && bounds->input == node.inputs[0]) return false;
  become(editor, index, wanted, bounds->input);
  return true;
}

/// clip(x + 3, 0, 6) when the value is that.
std::optional<ValueId> match_shifted_relu6(const Editor& editor, ValueId id) {
  const int index = editor.producer(id);
  if (index < 0) return std::nullopt;
  const auto* op = std::get_if<Unary>(&editor.node(index).op);
  if (op == nullptr || op->kind != UnaryKind::clip || op->a != 0 || op->b != 6) return std::nullopt;
  const auto sum = match_scalar(editor, editor.node(index).inputs[0], BinaryKind::add);
  return sum && sum->scalar == 3 ? std::optional(sum->value) : std::nullopt;
}

/// x in x * gate(x), in either order.
template <class Matches>
std::optional<ValueId> match_gated(const Operands& operands, Matches gate) {
  if (gate(operands.b) == std::optional(operands.a)) return operands.a;
  if (gate(operands.a) == std::optional(operands.b)) return operands.b;
  return std::nullopt;
}

/// hard_sigmoid and hard_swish from clip(x + 3, 0, 6) / 6.
bool find_hard_forms(Editor& editor, int index) {
  const ValueId output = editor.node(index).outputs[0];
  const auto scaled = match_scale(editor, output);
  if (!scaled || !nearly(scaled->scalar, 1.0 / 6)) return false;
  const auto relu6 = [&](ValueId id) { return match_shifted_relu6(editor, id); };
  if (const auto x = relu6(scaled->value)) {
    become(editor, index, {UnaryKind::hard_sigmoid, 1.0f / 6, 0.5f}, *x);
    return true;
  }
  const auto product = match_binary(editor, scaled->value, BinaryKind::mul);
  if (!product) return false;
  const auto x = match_gated(*product, relu6);
  if (x) become(editor, index, {UnaryKind::hard_swish, 0, 0}, *x);
  return x.has_value();
}

std::optional<ValueId> match_hard_gate(const Editor& editor, ValueId id) {
  const auto* op = editor.produced_by<Unary>(id);
  if (op == nullptr || op->kind != UnaryKind::hard_sigmoid || !nearly(op->a, 1.0 / 6) || !nearly(op->b, 0.5)) {
    return std::nullopt;
  }
  return editor.node(editor.producer(id)).inputs[0];
}

/// x * sigmoid(x), x * hard_sigmoid(x), x * tanh(softplus(x)).
bool find_gates(Editor& editor, int index) {
  const auto operands = match_binary(editor, editor.node(index).outputs[0], BinaryKind::mul);
  if (!operands) return false;
  const auto sigmoid = [&](ValueId id) { return match_unary(editor, id, UnaryKind::sigmoid); };
  const auto hard = [&](ValueId id) { return match_hard_gate(editor, id); };
  const auto mish = [&](ValueId id) {
    const auto softplus = match_unary(editor, id, UnaryKind::tanh);
    return softplus ? match_unary(editor, *softplus, UnaryKind::softplus) : std::nullopt;
  };
  if (const auto x = match_gated(*operands, sigmoid)) {
    become(editor, index, {UnaryKind::silu, 0, 0}, *x);
  } else if (const auto y = match_gated(*operands, hard)) {
    become(editor, index, {UnaryKind::hard_swish, 0, 0}, *y);
  } else if (const auto z = match_gated(*operands, mish)) {
    become(editor, index, {UnaryKind::mish, 0, 0}, *z);
  } else {
    return false;
  }
  return true;
}

/// softplus from log(1 + exp(x)).
bool find_softplus(Editor& editor, int index) {
  const auto sum = match_unary(editor, editor.node(index).outputs[0], UnaryKind::log);
  const auto exp = sum ? match_scalar(editor, *sum, BinaryKind::add) : std::nullopt;
  if (!exp || exp->scalar != 1) return false;
  const auto x = match_unary(editor, exp->value, UnaryKind::exp);
  if (x) become(editor, index, {UnaryKind::softplus, 0, 0}, *x);
  return x.has_value();
}

struct GeluGate {
  ValueId input = kAbsent;
  UnaryKind kind = UnaryKind::gelu_erf;
};

/// x + 0.044715 x^3 when the value is that.
std::optional<ValueId> match_gelu_cubic(const Editor& editor, ValueId id) {
  const auto sum = match_binary(editor, id, BinaryKind::add);
  if (!sum) return std::nullopt;
  for (const auto& [x, cubic] : {Operands{sum->a, sum->b}, Operands{sum->b, sum->a}}) {
    const auto scaled = match_scale(editor, cubic);
    if (!scaled || !nearly(scaled->scalar, 0.044715)) continue;
    const auto power = match_scalar(editor, scaled->value, BinaryKind::pow);
    if (power && power->scalar == 3 && power->value == x) return x;
    const auto product = match_binary(editor, scaled->value, BinaryKind::mul);
    if (!product) continue;
    const ValueId square = product->a == x ? product->b : product->a;
    if (product->a != x && product->b != x) continue;
    const auto by_hand = match_binary(editor, square, BinaryKind::mul);
    if (match_unary(editor, square, UnaryKind::square) == std::optional(x)) return x;
    if (by_hand && by_hand->a == x && by_hand->b == x) return x;
  }
  return std::nullopt;
}

/// 1 + erf(x / sqrt 2), or 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)).
std::optional<GeluGate> match_gelu_gate(const Editor& editor, ValueId id) {
  const auto sum = match_scalar(editor, id, BinaryKind::add);
  if (!sum || sum->scalar != 1) return std::nullopt;
  if (const auto argument = match_unary(editor, sum->value, UnaryKind::erf)) {
    const auto scaled = match_scale(editor, *argument);
    if (!scaled || !nearly(scaled->scalar, std::numbers::sqrt2 / 2)) return std::nullopt;
    return GeluGate{scaled->value, UnaryKind::gelu_erf};
  }
  const auto argument = match_unary(editor, sum->value, UnaryKind::tanh);
  const auto scaled = argument ? match_scale(editor, *argument) : std::nullopt;
  if (!scaled || !nearly(scaled->scalar, std::sqrt(2 / std::numbers::pi))) return std::nullopt;
  const auto x = match_gelu_cubic(editor, scaled->value);
  return x ? std::optional(GeluGate{*x, UnaryKind::gelu_tanh}) : std::nullopt;
}

/// The value without its factor of a scalar constant.
ScaledOperand peel(const Editor& editor, ValueId id) {
  return match_scale(editor, id).value_or(ScaledOperand{id, 1.0});
}

/// 0.5 * x * gate(x) in any association.
bool find_gelu(Editor& editor, int index) {
  const ValueId output = editor.node(index).outputs[0];
  const ScaledOperand outer = peel(editor, output);
  const auto product = match_binary(editor, outer.value, BinaryKind::mul);
  if (!product) return false;
  for (const auto& [left, right] : {Operands{product->a, product->b}, Operands{product->b, product->a}}) {
    const ScaledOperand gate = peel(editor, right);
    const auto match = match_gelu_gate(editor, gate.value);
    if (!match) continue;
    const ScaledOperand factor = left == match->input ? ScaledOperand{left, 1.0} : peel(editor, left);
    if (factor.value != match->input || !nearly(outer.scalar * gate.scalar * factor.scalar, 0.5)) continue;
    become(editor, index, {match->kind, 0, 0}, match->input);
    return true;
  }
  return false;
}

/// Powers 2 and 0.5, x * x, 1 / x, prelu with one slope.
bool simplify_binary(Editor& editor, int index) {
  if (!editor.is_one_of<Binary>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<Binary>(&node.op);
  if (editor.value(node.outputs[0]).type.dtype != DType::f32) return false;
  const ValueId output = node.outputs[0];
  if (const auto power = match_scalar(editor, output, BinaryKind::pow)) {
    if (power->scalar != 2 && power->scalar != 0.5) return false;
    become(editor, index, {power->scalar == 2 ? UnaryKind::square : UnaryKind::sqrt, 0, 0}, power->value);
    return true;
  }
  if (op->kind == BinaryKind::mul && node.inputs[0] == node.inputs[1]) {
    become(editor, index, {UnaryKind::square, 0, 0}, node.inputs[0]);
    return true;
  }
  if (op->kind == BinaryKind::div && scalar_of(editor, node.inputs[0]) == 1.0 &&
      same_type(editor, node.inputs[1], output)) {
    become(editor, index, {UnaryKind::reciprocal, 0, 0}, node.inputs[1]);
    return true;
  }
  if (const auto prelu = match_scalar(editor, output, BinaryKind::prelu)) {
    become(editor, index, {UnaryKind::leaky_relu, static_cast<float>(prelu->scalar), 0}, prelu->value);
    return true;
  }
  return false;
}

/// x / c is x * (1 / c), exact for powers of two.
bool divide_by_power_of_two(Editor& editor, int index) {
  const auto quotient = match_scalar(editor, editor.node(index).outputs[0], BinaryKind::div);
  if (!quotient) return false;
  const Node node = editor.node(index);
  if (editor.value(node.outputs[0]).type.dtype != DType::f32) return false;
  int exponent = 0;
  if (quotient->scalar == 0 || !std::isfinite(quotient->scalar)) return false;
  if (std::abs(std::frexp(quotient->scalar, &exponent)) != 0.5 || std::abs(exponent) > 64) return false;
  Tensor factor(DType::f32, {});
  factor.values<float>()[0] = static_cast<float>(1.0 / quotient->scalar);
  const ValueId constant = editor.add_constant(node.name + "_factor", std::move(factor));
  editor.set_op(index, Binary{BinaryKind::mul});
  editor.set_inputs(index, {quotient->value, constant});
  return true;
}

/// What is left of numbers that were integers of 16 bits for a moment: steps of one size, and the first and last of
/// them. A clip that takes no step away is not computed before.
bool find_steps(Editor& editor, int index) {
  const ValueId output = editor.node(index).outputs[0];
  const auto scaled = match_scalar(editor, output, BinaryKind::mul);
  if (!scaled || !(scaled->scalar > 0) || editor.value(output).type.dtype != DType::f32) return false;
  const auto* clip = editor.produced_by<Unary>(scaled->value);
  if (clip == nullptr || clip->kind != UnaryKind::clip || clip->b - clip->a != kStepsOf16Bits) return false;
  const auto rounded = match_unary(editor, editor.node(editor.producer(scaled->value)).inputs[0], UnaryKind::round);
  const auto* quotient = rounded ? editor.produced_by<Binary>(*rounded) : nullptr;
  if (quotient == nullptr || quotient->kind != BinaryKind::div) return false;
  const std::vector<ValueId> divided = editor.node(editor.producer(*rounded)).inputs;
  if (scalar_of(editor, divided[1]) != scaled->scalar || !same_type(editor, divided[0], output)) return false;
  const Unary steps{UnaryKind::steps, static_cast<float>(scaled->scalar), clip->a};
  const auto step_of = [&](float x) { return std::nearbyint(x / steps.a); };
  const int before = editor.producer(divided[0]);
  const auto bounds = before < 0 ? std::nullopt : bounds_of(editor, editor.node(before));
  const bool is_wide = bounds && step_of(bounds->low) <= clip->a && step_of(bounds->high) >= clip->b;
  become(editor, index, steps, is_wide ? bounds->input : divided[0]);
  return true;
}

constexpr bool (*kRecognised[])(Editor&, int) = {
    merge_clips,     find_hard_forms,        find_gates, find_softplus,       find_gelu, find_softmax, find_layer_norm,
    simplify_binary, divide_by_power_of_two, find_steps, find_short_quantize,
};

}  // namespace

bool recognise(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    if (!editor.alive(index) || editor.node(index).outputs.size() != 1) continue;
    for (const auto rule : kRecognised) {
      if (rule(editor, index)) break;
    }
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
