// SPDX-License-Identifier: Apache-2.0
#include "passes/contraction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "passes/match.hpp"

namespace colonnade::rewrite {
namespace {

using Doubles = std::vector<double>;

bool is_float_constant(const Editor& editor, ValueId id) {
  return editor.is_constant(id) && editor.value(id).type.dtype == DType::f32;
}

Doubles doubles_of(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return Doubles(values.begin(), values.end());
}

std::optional<ChannelAffine> affine_of_binary(const Editor& editor, const Node& node, BinaryKind kind, ValueId input) {
  const bool second = node.inputs[0] == input;
  if (node.inputs[0] == node.inputs[1] || !same_type(editor, input, node.outputs[0])) return std::nullopt;
  const Shape& shape = *editor.value(input).type.shape;
  if (shape.empty() || editor.value(input).type.dtype != DType::f32) return std::nullopt;
  const auto constant = channel_constant(editor, node.inputs[second ? 1 : 0], shape.size(), shape.back());
  if (!constant) return std::nullopt;
  Doubles values = *constant;
  if (kind == BinaryKind::add) return ChannelAffine{{}, values};
  if (kind == BinaryKind::mul) return ChannelAffine{values, {}};
  if (kind == BinaryKind::sub) {
    if (!second) return ChannelAffine{{-1.0}, values};
    for (double& v : values) v = -v;
    return ChannelAffine{{}, values};
  }
  if (kind == BinaryKind::div && second) {
    for (double& v : values) v = 1.0 / v;
    if (std::any_of(values.begin(), values.end(), [](double v) { return !std::isfinite(v); })) return std::nullopt;
    return ChannelAffine{values, {}};
  }
  return std::nullopt;
}

std::optional<ChannelAffine> affine_of_norm(const Editor& editor, const Node& node, const BatchNorm& op,
                                            ValueId input) {
  if (node.inputs[0] != input || !has_rank(editor, input) || node.inputs.size() < 5) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(rank_of(editor, input));
  if (rank == 0 || normalize_axis(op.axis, rank, node) != rank - 1) return std::nullopt;
  if (editor.value(input).type.dtype != DType::f32) return std::nullopt;
  for (std::size_t i = 1; i < 5; ++i) {
    if (!is_float_constant(editor, node.inputs[i])) return std::nullopt;
  }
  const auto values = [&](std::size_t i) { return doubles_of(*editor.value(node.inputs[i]).constant->tensor()); };
  Doubles scale = values(1), shift = values(2);
  const Doubles mean = values(3), variance = values(4);
  for (std::size_t c = 0; c < scale.size(); ++c) {
    scale[c] /= std::sqrt(variance[c] + static_cast<double>(op.epsilon));
    shift[c] -= mean[c] * scale[c];
  }
  return ChannelAffine{scale, shift};
}

/// Of one weight a channel.
std::optional<ChannelAffine> affine_of_conv(const Editor& editor, const Node& node, const Conv& conv, ValueId input) {
  const ValueId weights = node.inputs[1], bias = node.input(kBiasInput);
  if (node.inputs[0] != input || !is_float_constant(editor, weights)) return std::nullopt;
  if (bias != kAbsent && !is_float_constant(editor, bias)) return std::nullopt;
  const Constant& scale = *editor.value(weights).constant;
  if (conv.groups != scale.size() || conv.groups != scale.shape()[0] || scale.narrow() != nullptr) return std::nullopt;
  if (!all_are(conv.strides, 1) || !all_are(conv.pads, 0) || conv.auto_pad != AutoPad::explicit_pads)
    return std::nullopt;
  if (conv.exact || !is_plain(conv.epilogue)) return std::nullopt;
  Doubles shift = bias == kAbsent ? Doubles{} : doubles_of(*editor.value(bias).constant->tensor());
  return ChannelAffine{doubles_of(*scale.tensor()), std::move(shift)};
}

Doubles combine(const Doubles& a, const Doubles& b, double absent_a, double absent_b, double (*op)(double, double)) {
  if (a.empty() && b.empty()) return {};
  Doubles result(std::max({a.size(), b.size(), std::size_t{1}}));
  for (std::size_t c = 0; c < result.size(); ++c) result[c] = op(element(a, c, absent_a), element(b, c, absent_b));
  return result;
}

using Weights = std::shared_ptr<const Constant>;

/// The output channel that each weight belongs to: blocks of `inner` weights in a row share one, and
/// `channel_of(block)` names it, as `by` says.
template <class ChannelOf>
Weights scaled(const Weights& weights, const Doubles& scale, std::string_view by, std::int64_t inner,
               ChannelOf channel_of) {
  const auto make = [=](std::int64_t first, std::span<std::byte> target) {
    weights->read(first, target);
    const std::span values(reinterpret_cast<float*>(target.data()), target.size() / sizeof(float));
    auto block = static_cast<std::size_t>(first / inner), skipped = static_cast<std::size_t>(first % inner);
    for (std::size_t begin = 0; begin < values.size(); ++block, skipped = 0) {
      const std::size_t end = std::min(values.size(), begin + static_cast<std::size_t>(inner) - skipped);
      const double factor = element(scale, channel_of(block), 1);
      for (; begin < end; ++begin) values[begin] = static_cast<float>(static_cast<double>(values[begin]) * factor);
    }
  };
  const std::string_view factors(reinterpret_cast<const char*>(scale.data()), scale.size() * sizeof(double));
  return derived(weights, fmt::format("scaled by {} of {}: {}", by, inner, factors),
                 [&] { return std::make_shared<const Constant>(weights->dtype(), weights->shape(), make); });
}

std::int64_t product_from(const Shape& shape, std::size_t axis) {
  std::int64_t product = 1;
  for (std::size_t i = axis; i < shape.size(); ++i) product *= shape[i];
  return std::max<std::int64_t>(product, 1);
}

Weights scaled_weights(const Operator& op, const Weights& weights, const Doubles& scale) {
  const Shape& shape = weights->shape();
  const auto size = [&](std::size_t axis) { return static_cast<std::size_t>(shape[axis]); };
  if (std::holds_alternative<Conv>(op)) {
    return scaled(weights, scale, "outputs", product_from(shape, 1), [](std::size_t block) { return block; });
  }
  if (const auto* transposed = std::get_if<ConvTranspose>(&op)) {
    const std::size_t outputs = size(1), group_inputs = size(0) / static_cast<std::size_t>(transposed->groups);
    return scaled(weights, scale, fmt::format("outputs of {} groups", transposed->groups), product_from(shape, 2),
                  [=](std::size_t block) { return block / outputs / group_inputs * outputs + block % outputs; });
  }
  if (std::get<MatMul>(op).transpose_b) {
    const std::size_t columns = size(shape.size() - 2);
    return scaled(weights, scale, "rows", shape.back(), [=](std::size_t block) { return block % columns; });
  }
  const std::size_t columns = size(shape.size() - 1);
  return scaled(weights, scale, "columns", 1, [=](std::size_t block) { return block % columns; });
}

/// The sums of a matrix' rows (columns of a transposed one), each times its element of `factors`.
Doubles weighted_rows(const Tensor& matrix, bool transposed, const Doubles& factors) {
  const auto weights = matrix.values<float>();
  const auto rows = static_cast<std::size_t>(matrix.shape()[0]), columns = static_cast<std::size_t>(matrix.shape()[1]);
  Doubles sums(transposed ? rows : columns);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      sums[transposed ? row : column] +=
          element(factors, transposed ? column : row, 0) * static_cast<double>(weights[row * columns + column]);
  return sums;
}

bool is_neutral(const Doubles& values, double neutral) {
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == neutral; });
}

}  // namespace

bool is_plain(const FusedEpilogue& epilogue) { return epilogue == FusedEpilogue{}; }

double element(const Doubles& values, std::size_t channel, double absent) {
  if (values.empty()) return absent;
  return values[values.size() == 1 ? 0 : channel];
}

std::optional<Doubles> channel_constant(const Editor& editor, ValueId id, std::size_t rank, std::int64_t channels) {
  if (!is_float_constant(editor, id)) return std::nullopt;
  const Constant& constant = *editor.value(id).constant;
  if (constant.shape().size() > rank) return std::nullopt;
  if (constant.size() != 1 && (constant.size() != channels || constant.shape().back() != channels)) return std::nullopt;
  return doubles_of(*constant.tensor());
}

std::optional<ChannelAffine> affine_of(const Editor& editor, const Node& node, ValueId input) {
  if (const auto* op = std::get_if<Binary>(&node.op); op != nullptr && !op->exact)
    return affine_of_binary(editor, node, op->kind, input);
  if (const auto* op = std::get_if<BatchNorm>(&node.op)) return affine_of_norm(editor, node, *op, input);
  if (const auto* op = std::get_if<Conv>(&node.op)) return affine_of_conv(editor, node, *op, input);
  return std::nullopt;
}

ChannelAffine then(const ChannelAffine& first, const ChannelAffine& second) {
  const auto multiply = [](double a, double b) { return a * b; };
  const auto add = [](double a, double b) { return a + b; };
  const Doubles moved = first.shift.empty() ? Doubles{} : combine(first.shift, second.scale, 0, 1, multiply);
  return {combine(first.scale, second.scale, 1, 1, multiply), combine(moved, second.shift, 0, 0, add)};
}

bool fold_affine(Editor& editor, int contraction, const ChannelAffine& affine) {
  const Node node = editor.node(contraction);
  const bool scales = !is_neutral(affine.scale, 1), shifts = !is_neutral(affine.shift, 0);
  const ValueId weights = node.inputs[1], bias = node.input(kBiasInput);
  if (bias != kAbsent && !is_float_constant(editor, bias)) return false;
  if (scales && (!is_float_constant(editor, weights) || rank_of(editor, weights) < 2)) return false;
  const Shape shape = *editor.value(node.outputs[0]).type.shape;
  if (shape.back() < 0) return false;
  std::vector<ValueId> inputs = node.inputs;
  inputs.resize(std::max(inputs.size(), kBiasInput + 1), kAbsent);
  if (scales) {
    auto constant = scaled_weights(node.op, editor.value(weights).constant, affine.scale);
    inputs[1] = editor.add_constant(std::string(editor.value(weights).name), std::move(constant));
  }
  if (shifts || (scales && bias != kAbsent)) {
    const Doubles old = bias == kAbsent ? Doubles{} : doubles_of(*editor.value(bias).constant->tensor());
    Tensor tensor(DType::f32, {shape.back()});
    for (std::size_t c = 0; c < tensor.values<float>().size(); ++c) {
      const double value = element(old, c, 0) * element(affine.scale, c, 1) + element(affine.shift, c, 0);
      tensor.values<float>()[c] = static_cast<float>(value);
    }
    inputs[kBiasInput] = editor.add_constant(node.name + "_bias", std::move(tensor));
  }
  editor.set_inputs(contraction, std::move(inputs));
  return true;
}

bool fold_scale_of_input(Editor& editor, int convolution, const ChannelAffine& affine) {
  const Node node = editor.node(convolution);
  const auto& conv = std::get<Conv>(node.op);
  if (!affine.shift.empty() || conv.exact || !is_float_constant(editor, node.inputs[1])) return false;
  const Weights weights = editor.value(node.inputs[1]).constant;
  const auto inputs = static_cast<std::size_t>(weights->shape()[1]);
  const std::size_t group_outputs = static_cast<std::size_t>(weights->shape()[0] / conv.groups);
  if (weights->size() == 0) return false;
  auto constant =
      scaled(weights, affine.scale, fmt::format("inputs of {} groups", conv.groups), product_from(weights->shape(), 2),
             [=](std::size_t block) { return block / inputs / group_outputs * inputs + block % inputs; });
  std::vector<ValueId> all = node.inputs;
  all[1] = editor.add_constant(std::string(editor.value(node.inputs[1]).name), std::move(constant));
  editor.set_inputs(convolution, std::move(all));
  return true;
}

bool fold_affine_of_input(Editor& editor, int contraction, const ChannelAffine& affine) {
  constexpr double kMostShift = 16;  // of values that are of order one: costs four bits
  const Node node = editor.node(contraction);
  const MatMul& product = std::get<MatMul>(node.op);
  const ValueId bias = node.input(kBiasInput);
  if (product.transpose_a || !is_float_constant(editor, node.inputs[1]) || rank_of(editor, node.inputs[1]) != 2)
    return false;
  if (bias != kAbsent && !is_float_constant(editor, bias)) return false;
  for (const double shift : affine.shift)
    if (!(std::abs(shift) <= kMostShift)) return false;
  const std::shared_ptr<const Constant> weights = editor.value(node.inputs[1]).constant;
  std::vector<ValueId> inputs = node.inputs;
  if (!is_neutral(affine.scale, 1)) {
    const auto depth = static_cast<std::size_t>(weights->shape()[product.transpose_b ? 1 : 0]);
    auto constant = scaled(weights, affine.scale, "inputs", product.transpose_b ? 1 : weights->shape()[1],
                           [depth](std::size_t block) { return block % depth; });
    inputs[1] = editor.add_constant(std::string(editor.value(node.inputs[1]).name), std::move(constant));
  }
  if (!is_neutral(affine.shift, 0)) {
    const Doubles sums = weighted_rows(*weights->tensor(), product.transpose_b, affine.shift);
    const Doubles old = bias == kAbsent ? Doubles{} : doubles_of(*editor.value(bias).constant->tensor());
    Tensor tensor(DType::f32, {static_cast<std::int64_t>(sums.size())});
    for (std::size_t c = 0; c < sums.size(); ++c)
      tensor.values<float>()[c] = static_cast<float>(element(old, c, 0) + sums[c]);
    inputs.resize(std::max(inputs.size(), kBiasInput + 1), kAbsent);
    inputs[kBiasInput] = editor.add_constant(node.name + "_bias", std::move(tensor));
  }
  editor.set_inputs(contraction, std::move(inputs));
  return true;
}

}  // namespace colonnade::rewrite
