// SPDX-License-Identifier: Apache-2.0
// Contractions of bytes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/byte_weights.hpp"
#include "passes/bytes.hpp"
#include "passes/contraction.hpp"
#include "passes/match.hpp"
#include "passes/transposes.hpp"
#include "reference/elements.hpp"

namespace colonnade::rewrite {
namespace {

constexpr std::int64_t kLeastGroupChannels = 4;  // of groups that kernels multiply

/// Of sums of bytes.
constexpr std::size_t kFactorInput = 4, kShiftInput = 5, kSlopeInput = 6;

std::shared_ptr<const Tensor> constant_tensor(const Editor& editor, ValueId id) {
  return editor.is_constant(id) ? editor.value(id).constant->tensor() : nullptr;
}

float element_of(const std::vector<float>& values, std::size_t i) { return values.size() == 1 ? values[0] : values[i]; }

std::vector<float> floats_of(const Tensor& tensor) {
  const std::vector<double> numbers = reference::load_all<double>(tensor);
  return {numbers.begin(), numbers.end()};
}

/// Constant weights of sums of bytes with scales, one or one an output channel.
struct ByteWeights {
  ValueId bytes = kAbsent;
  std::vector<float> scale;
};

/// Weights whose output channels lie along `axis`.
std::optional<ByteWeights> weights_of(Editor& editor, ValueId id, std::size_t axis, ByteWidth most) {
  const auto* op = editor.produced_by<Dequantize>(id);
  if (op == nullptr || op->block != 0) return std::nullopt;
  const Node node = editor.node(editor.producer(id));
  const auto bytes = constant_tensor(editor, node.inputs[0]), scale = constant_tensor(editor, node.inputs[1]);
  const auto zero = constant_tensor(editor, node.input(2));
  if (!bytes || !scale || (node.input(2) != kAbsent && !zero) || bytes->size() == 0) return std::nullopt;
  if (bytes->dtype() != DType::i8 && bytes->dtype() != DType::u8) return std::nullopt;
  const bool each = scale->size() != 1 || (zero && zero->size() != 1);
  const auto rank = static_cast<std::int64_t>(bytes->shape().size());
  if (each && normalize_axis(op->axis, rank, node) != static_cast<std::int64_t>(axis)) return std::nullopt;
  const auto zeros = zero ? reference::load_all<std::int64_t>(*zero) : std::vector<std::int64_t>{};
  const bool is_centred = std::ranges::all_of(zeros, [](auto z) { return z == 0; });
  if (is_centred && bytes->dtype() == DType::i8) return ByteWeights{node.inputs[0], floats_of(*scale)};
  auto centred = centred_weights(*bytes, zeros, axis, most);
  if (!centred) return std::nullopt;
  return ByteWeights{editor.add_constant(editor.value(node.inputs[0]).name, *std::move(centred)), floats_of(*scale)};
}

/// What is added to the sums of each output channel: integers in units of the sums, or numbers.
struct Bias {
  std::vector<std::int32_t> integers;
  std::vector<float> numbers;
};

/// `unit`: of the sums, one or one a channel.
std::optional<Bias> bias_of(const Editor& editor, ValueId id, std::size_t channels, const std::vector<float>& unit) {
  Bias bias;
  if (id == kAbsent) return bias;
  if (const auto held = constant_tensor(editor, id)) {
    if (held->dtype() != DType::f32 || (held->size() != 1 && held->size() != static_cast<std::int64_t>(channels)))
      return std::nullopt;
    for (std::size_t i = 0; i < channels; ++i) bias.numbers.push_back(element_of(floats_of(*held), i));
    return bias;
  }
  if (editor.produced_by<Dequantize>(id) == nullptr) return std::nullopt;
  const Node& node = editor.node(editor.producer(id));
  const auto integers = constant_tensor(editor, node.inputs[0]), scale = constant_tensor(editor, node.inputs[1]);
  const auto zero = constant_tensor(editor, node.input(2));
  if (!integers || !scale || integers->dtype() != DType::i32 || integers->size() != static_cast<std::int64_t>(channels))
    return std::nullopt;
  if (zero && std::ranges::any_of(reference::load_all<std::int64_t>(*zero), [](auto z) { return z != 0; }))
    return std::nullopt;
  const std::vector<float> scales = floats_of(*scale);
  bool in_units = true;
  for (std::size_t i = 0; i < channels; ++i) {
    bias.integers.push_back(integers->values<std::int32_t>()[i]);
    bias.numbers.push_back(static_cast<float>(bias.integers[i]) * element_of(scales, i));
    in_units = in_units && nearly(static_cast<double>(element_of(scales, i)), static_cast<double>(element_of(unit, i)));
  }
  (in_units ? static_cast<void>(bias.numbers.clear()) : static_cast<void>(bias.integers.clear()));
  return bias;
}

/// A contraction of bytes as it is found.
struct Found {
  Quantised x;
  ByteWeights weights;
  Bias bias;
  std::size_t channels = 0;
  ValueId result = kAbsent;  ///< what the sums and the bias become
};

std::vector<float> unit_of(const Found& found) {
  std::vector<float> unit = found.weights.scale;
  for (float& scale : unit) scale = found.x.scale * scale;
  return unit;
}

/// Of the weights that kernels convolve by; nothing where there is no kernel.
std::optional<ByteWidth> width_of(const Conv& conv, const Shape& weight) {
  if (weight.size() != 4 || !is_plain(conv.epilogue)) return std::nullopt;
  if (conv.groups == 1 || weight[1] >= kLeastGroupChannels) return ByteWidth::two;
  const bool is_depthwise = weight[1] == 1 && weight[0] == conv.groups;
  return is_depthwise ? std::optional(ByteWidth::one) : std::nullopt;
}

std::optional<Found> find_conv(Editor& editor, const Node& node, const Conv& conv) {
  const auto x = dequantised(editor, node.inputs[0]);
  if (!x || editor.is_constant(x->bytes)) return std::nullopt;
  const auto& shape = editor.value(node.inputs[1]).type.shape;
  const auto width = shape ? width_of(conv, *shape) : std::nullopt;
  auto weights = width ? weights_of(editor, node.inputs[1], 0, *width) : std::nullopt;
  if (!weights) return std::nullopt;
  const auto channels = static_cast<std::size_t>(editor.value(weights->bytes).constant->shape()[0]);
  Found found{*x, *std::move(weights), {}, channels, node.outputs[0]};
  auto bias = bias_of(editor, node.input(kBiasInput), channels, unit_of(found));
  if (!bias) return std::nullopt;
  found.bias = *std::move(bias);
  return found;
}

/// The other operand of an addition that alone reads the value.
std::optional<Operands> added_to(const Editor& editor, ValueId id) {
  if (!editor.read_once(id)) return std::nullopt;
  const Node& node = editor.node(editor.readers(id).front());
  const auto* op = std::get_if<Binary>(&node.op);
  if (op == nullptr || op->kind != BinaryKind::add) return std::nullopt;
  return Operands{node.inputs[0] == id ? node.inputs[1] : node.inputs[0], node.outputs[0]};
}

/// Constants of one number a channel whose shape does not widen what they are added to.
bool is_row(const Editor& editor, ValueId id, std::size_t channels) {
  const auto& shape = editor.value(id).type.shape;
  return shape && shape->size() == 1 && (*shape)[0] == static_cast<std::int64_t>(channels);
}

std::optional<Found> find_product(Editor& editor, const Node& node, const MatMul& op) {
  const bool plain =
      is_plain(op.epilogue) && !op.transpose_a && !op.heads_inside_a && !op.heads_inside_b && !op.heads_inside_out;
  const auto x = plain ? dequantised(editor, node.inputs[0]) : std::nullopt;
  if (!x || editor.is_constant(x->bytes) || !has_rank(editor, x->bytes) || rank_of(editor, x->bytes) < 2)
    return std::nullopt;
  if (!has_rank(editor, node.inputs[1]) || rank_of(editor, node.inputs[1]) != 2) return std::nullopt;
  auto weights = weights_of(editor, node.inputs[1], op.transpose_b ? 0 : 1, ByteWidth::two);
  if (!weights) return std::nullopt;
  if (op.transpose_b) {
    const auto bytes = editor.value(weights->bytes).constant->tensor();
    weights->bytes = editor.add_constant(editor.value(weights->bytes).name, transposed(*bytes, {1, 0}));
  }
  const auto channels = static_cast<std::size_t>(editor.value(weights->bytes).constant->shape()[1]);
  Found found{*x, *std::move(weights), {}, channels, node.outputs[0]};
  ValueId bias = node.input(kBiasInput);
  const auto added = bias == kAbsent ? added_to(editor, found.result) : std::nullopt;
  if (added && is_row(editor, added->a, channels) && bias_of(editor, added->a, channels, unit_of(found))) {
    bias = added->a;
    found.result = added->b;
  }
  auto numbers = bias_of(editor, bias, channels, unit_of(found));
  if (!numbers) return std::nullopt;
  found.bias = *std::move(numbers);
  return found;
}

/// What a function with a bend at zero multiplies by below it, by channel, and its result.
struct Bend {
  std::vector<float> slope;
  ValueId result = kAbsent;
};

/// Of a PRelu or leaky ReLU that alone reads the value.
std::optional<Bend> bend_of(const Editor& editor, ValueId id, std::size_t channels) {
  if (!editor.read_once(id)) return std::nullopt;
  const Node& node = editor.node(editor.readers(id).front());
  const auto* unary = std::get_if<Unary>(&node.op);
  if (unary != nullptr && unary->kind == UnaryKind::leaky_relu)
    return Bend{std::vector<float>(channels, unary->a), node.outputs[0]};
  const auto* binary = std::get_if<Binary>(&node.op);
  if (binary == nullptr || binary->kind != BinaryKind::prelu || node.inputs[0] != id) return std::nullopt;
  const auto slope = constant_tensor(editor, node.inputs[1]);
  if (!slope || slope->dtype() != DType::f32 || slope->shape().empty()) return std::nullopt;
  const auto count = static_cast<std::size_t>(slope->size());
  if (count != 1 && (count != channels || slope->shape().back() != slope->size())) return std::nullopt;
  Bend bend{{}, node.outputs[0]};
  for (std::size_t i = 0; i < channels; ++i) bend.slope.push_back(element_of(floats_of(*slope), i));
  return bend;
}

ValueId add_zero(Editor& editor, std::int32_t zero) {
  Tensor tensor(DType::u8, {});
  tensor.values<std::uint8_t>()[0] = static_cast<std::uint8_t>(zero);
  return editor.add_constant("zero_point", std::move(tensor));
}

ValueId add_offset(Editor& editor, const std::vector<std::int32_t>& values) {
  if (values.empty()) return kAbsent;
  Tensor tensor(DType::i32, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.values<std::int32_t>().begin());
  return editor.add_constant("offset", std::move(tensor));
}

}  // namespace

bool sum_bytes(Editor& editor, int index) {
  if (!editor.is_one_of<Conv, MatMul>(index)) return false;
  const Node node = editor.node(index);
  const auto* conv = std::get_if<Conv>(&node.op);
  const auto* product = std::get_if<MatMul>(&node.op);
  std::optional<Found> found;
  if (conv != nullptr) found = find_conv(editor, node, *conv);
  if (product != nullptr) found = find_product(editor, node, *product);
  if (!found) return false;
  const auto bend = bend_of(editor, found->result, found->channels);
  if (bend) found->result = bend->result;
  const auto ending = ending_of(editor, found->result);
  const Rescale out = ending ? ending->out : Rescale{DType::f32};
  std::vector<float> factor = unit_of(*found), shift = found->bias.numbers;
  if (ending) {
    for (float& unit : factor) unit = unit / ending->scale.scale;
    for (float& number : shift) number = number / ending->scale.scale;
  }
  std::vector<ValueId> inputs{found->x.bytes, found->weights.bytes,
                              found->x.zero == 0 ? kAbsent : add_zero(editor, found->x.zero),
                              add_offset(editor, found->bias.integers), add_floats(editor, "factor", factor)};
  if (!shift.empty() || bend) inputs.push_back(shift.empty() ? kAbsent : add_floats(editor, "shift", shift));
  if (bend) inputs.push_back(add_floats(editor, "slope", bend->slope));
  Operator op = ByteMatMul{out};
  if (conv != nullptr) {
    ByteConv sums{*conv, out};
    sums.window.exact = false;  // all sums of bytes are
    op = std::move(sums);
  }
  editor.replace(ending ? ending->bytes : found->result, editor.add(std::move(op), std::move(inputs), node));
  return true;
}

bool end_sums(Editor& editor, int index) {
  Node node = editor.node(index);
  auto* conv = std::get_if<ByteConv>(&node.op);
  auto* product = std::get_if<ByteMatMul>(&node.op);
  if (conv == nullptr && product == nullptr) return false;
  Rescale& out = conv != nullptr ? conv->out : product->out;
  const auto factor = constant_tensor(editor, node.input(kFactorInput));
  const auto shift = constant_tensor(editor, node.input(kShiftInput));
  if (out.to != DType::f32 || !factor || (node.input(kShiftInput) != kAbsent && !shift)) return false;
  const Shape& weight = editor.value(node.inputs[1]).constant->shape();
  const auto channels = static_cast<std::size_t>(conv != nullptr ? weight[0] : weight[1]);
  const bool bends = node.input(kSlopeInput) != kAbsent;
  const auto bend = bends ? std::nullopt : bend_of(editor, node.outputs[0], channels);
  const auto ending = ending_of(editor, bend ? bend->result : node.outputs[0]);
  if (!bend && !ending) return false;
  node.inputs.resize(bend || bends ? kSlopeInput + 1 : kShiftInput + 1, kAbsent);
  if (bend) node.inputs[kSlopeInput] = add_floats(editor, "slope", bend->slope);
  if (ending) {
    const auto in_steps = [&](const Tensor& numbers) {
      std::vector<float> values = floats_of(numbers);
      for (float& value : values) value = value / ending->scale.scale;
      return values;
    };
    node.inputs[kFactorInput] = add_floats(editor, "factor", in_steps(*factor));
    if (shift) node.inputs[kShiftInput] = add_floats(editor, "shift", in_steps(*shift));
    out = ending->out;
  }
  const ValueId result = ending ? ending->bytes : bend->result;
  editor.replace(result, editor.add(node.op, node.inputs, node));
  return true;
}

}  // namespace colonnade::rewrite
