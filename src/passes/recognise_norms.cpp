// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/match.hpp"
#include "passes/recognise.hpp"

namespace colonnade::rewrite {
namespace {

struct Reduced {
  ValueId input = kAbsent;
  Ints axes;
};

std::optional<Reduced> match_reduce(const Editor& editor, ValueId id, ReduceKind kind) {
  const auto* op = editor.produced_by<Reduce>(id);
  if (op == nullptr || op->kind != kind || !op->keepdims) return std::nullopt;
  const Node& node = editor.node(editor.producer(id));
  auto axes = reduce_axes(editor, node);
  if (!axes || axes->empty()) return std::nullopt;
  return Reduced{node.inputs[0], std::move(*axes)};
}

/// x when the value is x^2 in any form.
std::optional<ValueId> match_square(const Editor& editor, ValueId id) {
  if (const auto x = match_unary(editor, id, UnaryKind::square)) return x;
  if (const auto power = match_scalar(editor, id, BinaryKind::pow); power && power->scalar == 2) return power->value;
  const auto product = match_binary(editor, id, BinaryKind::mul);
  return product && product->a == product->b ? std::optional(product->a) : std::nullopt;
}

/// Numerator and the argument of the root in a / sqrt(b), a * (1 / sqrt(b)).
std::optional<Operands> match_over_root(const Editor& editor, ValueId id) {
  const auto root_of = [&](ValueId value) -> std::optional<ValueId> {
    if (const auto x = match_unary(editor, value, UnaryKind::sqrt)) return x;
    const auto power = match_scalar(editor, value, BinaryKind::pow);
    return power && power->scalar == 0.5 ? std::optional(power->value) : std::nullopt;
  };
  if (const auto quotient = match_binary(editor, id, BinaryKind::div)) {
    const auto root = root_of(quotient->b);
    return root ? std::optional(Operands{quotient->a, *root}) : std::nullopt;
  }
  const auto product = match_binary(editor, id, BinaryKind::mul);
  if (!product) return std::nullopt;
  for (const auto& [value, factor] : {Operands{product->a, product->b}, Operands{product->b, product->a}}) {
    const auto inverse = match_unary(editor, factor, UnaryKind::reciprocal);
    const auto root = inverse ? root_of(*inverse) : std::nullopt;
    if (root) return Operands{value, *root};
  }
  return std::nullopt;
}

struct Normalised {
  ValueId input = kAbsent;
  std::int64_t axis = 0;
  double epsilon = 0;
  bool rms = false;
};

/// x - mean(x) over the axes when `centred` is that.
std::optional<ValueId> match_centred(const Editor& editor, ValueId centred, const Ints& axes) {
  const auto difference = match_binary(editor, centred, BinaryKind::sub);
  const auto mean = difference ? match_reduce(editor, difference->b, ReduceKind::mean) : std::nullopt;
  if (!mean || mean->input != difference->a || mean->axes != axes) return std::nullopt;
  return difference->a;
}

std::optional<Normalised> match_normalised(const Editor& editor, ValueId id) {
  const auto quotient = match_over_root(editor, id);
  const auto sum = quotient ? match_scalar(editor, quotient->b, BinaryKind::add) : std::nullopt;
  const auto variance = sum ? match_reduce(editor, sum->value, ReduceKind::mean) : std::nullopt;
  const auto deviation = variance ? match_square(editor, variance->input) : std::nullopt;
  if (!deviation || !same_type(editor, *deviation, quotient->a) || !same_type(editor, *deviation, id)) {
    return std::nullopt;
  }
  const auto rank = static_cast<std::int64_t>(rank_of(editor, id));
  const auto count = static_cast<std::int64_t>(variance->axes.size());
  if (variance->axes.front() != rank - count) return std::nullopt;
  Normalised result{quotient->a, rank - count, sum->scalar, true};
  const auto centre = match_centred(editor, *deviation, variance->axes);
  if (centre && match_centred(editor, quotient->a, variance->axes) == centre) {
    result.input = *centre;
    result.rms = false;
  } else if (quotient->a != *deviation) {
    return std::nullopt;
  }
  return result;
}

/// The sole reader of the value when it is this Binary with a constant of exactly the given shape.
struct Following {
  ValueId output = kAbsent, constant = kAbsent;
};
std::optional<Following> match_following(const Editor& editor, ValueId id, BinaryKind kind, const Shape& shape) {
  if (!editor.read_once(id)) return std::nullopt;
  const Node& node = editor.node(editor.readers(id)[0]);
  const auto* op = std::get_if<Binary>(&node.op);
  if (op == nullptr || op->kind != kind || !same_type(editor, id, node.outputs[0])) return std::nullopt;
  const ValueId constant = node.inputs[0] == id ? node.inputs[1] : node.inputs[0];
  if (!editor.is_constant(constant) || editor.value(constant).type != ValueType{DType::f32, shape}) return std::nullopt;
  return Following{node.outputs[0], constant};
}

/// What a softmax along an axis sees alike: x of x less its largest.
ValueId without_shift(const Editor& editor, ValueId id, std::int64_t axis) {
  const auto difference = match_binary(editor, id, BinaryKind::sub);
  const auto max = difference ? match_reduce(editor, difference->b, ReduceKind::max) : std::nullopt;
  return max && max->input == difference->a && max->axes == Ints{axis} ? difference->a : id;
}

bool skip_shift(Editor& editor, int index, const Softmax& softmax) {
  const Node& node = editor.node(index);
  if (!has_rank(editor, node.inputs[0]) || editor.value(node.inputs[0]).type.dtype != DType::f32) return false;
  const auto rank = static_cast<std::int64_t>(rank_of(editor, node.inputs[0]));
  const ValueId x = without_shift(editor, node.inputs[0], softmax.axis + (softmax.axis < 0 ? rank : 0));
  if (x == node.inputs[0]) return false;
  editor.set_inputs(index, {x});
  return true;
}

}  // namespace

bool find_softmax(Editor& editor, int index) {
  if (const auto* softmax = std::get_if<Softmax>(&editor.node(index).op)) return skip_shift(editor, index, *softmax);
  const ValueId output = editor.node(index).outputs[0];
  const auto quotient = match_binary(editor, output, BinaryKind::div);
  const auto sum = quotient ? match_reduce(editor, quotient->b, ReduceKind::sum) : std::nullopt;
  if (!sum || sum->input != quotient->a || sum->axes.size() != 1) return false;
  const auto x = match_unary(editor, quotient->a, UnaryKind::exp);
  if (!x || editor.value(output).type.dtype != DType::f32) return false;
  editor.set_op(index, Softmax{sum->axes[0], false});
  editor.set_inputs(index, {without_shift(editor, *x, sum->axes[0])});
  return true;
}

bool find_layer_norm(Editor& editor, int index) {
  ValueId output = editor.node(index).outputs[0];
  if (editor.value(output).type.dtype != DType::f32) return false;
  const auto match = match_normalised(editor, output);
  if (!match) return false;
  const Node node = editor.node(index);
  const Shape& whole = *editor.value(output).type.shape;
  const Shape inner(whole.begin() + match->axis, whole.end());
  if (std::count(inner.begin(), inner.end(), -1) > 0) return false;
  ValueId scale = kAbsent, bias = kAbsent;
  if (const auto product = match_following(editor, output, BinaryKind::mul, inner)) {
    output = product->output;
    scale = product->constant;
    if (const auto sum = match_following(editor, output, BinaryKind::add, inner)) {
      output = sum->output;
      bias = sum->constant;
    }
  }
  if (scale == kAbsent) {
    Tensor ones(DType::f32, inner);
    std::fill(ones.values<float>().begin(), ones.values<float>().end(), 1.0f);
    scale = editor.add_constant(node.name + "_scale", std::move(ones));
  }
  std::vector<ValueId> inputs{match->input, scale};
  if (bias != kAbsent) inputs.push_back(bias);
  const LayerNorm norm{static_cast<float>(match->epsilon), match->axis, match->rms};
  editor.replace(output, editor.add(norm, std::move(inputs), node));
  return true;
}

}  // namespace colonnade::rewrite
